package openwrt

import (
	"fmt"
	"net/netip"
)

// Verdict is what happens to a packet.
type Verdict int

const (
	// Drop means that the packet is discarded.
	Drop Verdict = iota
	// Reject means that the packet is answered with an error.
	Reject
	// Accept means that the packet arrives, at the device or at Result.Out.
	Accept
)

// String returns v in lower case.
func (v Verdict) String() string { return [...]string{"drop", "reject", "accept"}[v] }

// Packet is the first packet of a connection.
type Packet struct {
	In       string // interface on which it arrives; "" if the device itself sends it
	Src, Dst netip.Addr
	Proto    string // tcp, udp, icmp, …
	SrcPort  uint16
	DstPort  uint16
	ICMPType string // by name, such as echo-request
	MAC      string // of the sender
}

// Result is what the device does with a packet.
type Result struct {
	Verdict  Verdict
	Local    bool       // it is for the device itself
	Out      string     // interface by which it leaves; "" if it does not
	Src, Dst netip.Addr // after translation
	SrcPort  uint16
	DstPort  uint16
	WANs     []string // interfaces among which a policy of mwan3 spreads it; Out is the first
	Tunnel   string   // remote/connection of ipsec that carries it; "" for none
	Steps    []string // what decided, in order
	Unknown  []string // rules that were skipped because they use more than is modelled
}

// flight is a packet in flight.
type flight struct {
	Packet
	d          *Device
	mark       uint32
	out        string
	local      bool
	translated bool // its destination was translated
	result     Result
}

// Trace evaluates the first packet of a connection, given what the services of the device read at their last start and
// what scripts have put into its kernel.
//
// Modelled are, in this order: marks; DNAT; the outgoing interface, by routing rules, mwan3 and routes; the filter; SNAT;
// ipsec. Of the firewall service: zones by network and subnet, defaults, rules before forwardings before the policy
// within a zone, redirects and masquerading, and that a translated packet needs no forwarding from a zone with redirects.
// Rules applied at once come before the service's if they are older than its last start, and otherwise after them: the
// service removes its own rules and appends them again.
//
// Rules of the service that mark are evaluated where OpenWRT 21.02 puts them: one from a zone to a zone between routing
// and the filter, after DNAT; one from a zone alone only for packets to the device.
//
// Of the field extra the words -s, -d, --sport, --dport, and those of multiport, mark, conntrack's states and comments
// are modelled. A rule with other words, or with something in extra_src or etra_dest, is skipped and listed in Unknown.
// Not modelled are replies, existing connections, limits, schedules, sets and helpers.
func (d *Device) Trace(p Packet) Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &flight{Packet: p, d: d}
	f.setMarks()
	f.translateDestination()
	var verdict Verdict
	switch {
	case p.In == "":
		if f.route() {
			f.marks(markOutput)
			verdict = f.filter("", f.serviceOutput, "output")
		} else {
			verdict = Reject
		}
	case f.local || d.ifaceOf(f.Dst.String()) != "":
		f.local = true
		f.marks(markInput)
		verdict = f.filter(filterIn, f.serviceInput, "input")
	case f.route():
		f.marks(markForward)
		verdict = f.filter(filterFw, f.serviceForward, "forward")
	default:
		verdict = Reject
	}
	r := &f.result
	r.Verdict, r.Local, r.Out = verdict, f.local, f.out
	if verdict == Accept && !f.local {
		f.findTunnel()
		f.translateSource()
	}
	r.Src, r.Dst, r.SrcPort, r.DstPort = f.Src, f.Dst, f.SrcPort, f.DstPort
	return *r
}

func (f *flight) step(format string, args ...any) {
	f.result.Steps = append(f.result.Steps, fmt.Sprintf(format, args...))
}

// named is the name of a section in steps.
func named(s *section) string {
	if own, ok := s.value("name"); ok {
		return s.typ + " " + own
	}
	return s.typ + " " + s.id
}

// setMarks walks mangle PREROUTING.
func (f *flight) setMarks() {
	if f.In == "" {
		return
	}
	for _, r := range f.d.kernel.chains[mangle] {
		if r.service {
			f.marks(markAtOnce)
			continue
		}
		if r.match().covers(f) {
			f.setMark(r.setMark, "", r.spec())
		}
	}
}

func (f *flight) setMark(set, xor, why string) {
	text := set
	if xor != "" {
		text = xor
	}
	value, mask := readMark(text)
	if xor != "" {
		f.mark = f.mark&^mask ^ value
	} else {
		f.mark = f.mark&^mask | value
	}
	f.step("%s: mark %#x", why, f.mark)
}

// translateDestination walks nat PREROUTING; the first rule that covers the packet ends it.
func (f *flight) translateDestination() {
	if f.In == "" {
		return
	}
	for _, r := range f.d.kernel.chains[natPre] {
		if r.service {
			if f.redirect() {
				return
			}
			continue
		}
		if !r.match().covers(f) {
			continue
		}
		f.step("%s", r.spec())
		f.toDestination(r.to, r.toPort)
		return
	}
}

// redirect applies the first redirect of the service that covers the packet.
func (f *flight) redirect() bool {
	for _, s := range f.sections("redirect") {
		if t := s.text("target"); t != "" && t != "DNAT" || s.text("src") == "" {
			continue
		}
		m := matchOf(s, "src_dip", "src_dport", "tcpudp")
		m.icmp = nil
		if f.zoneCovers(s.text("src"), f.In, f.Src) && m.covers(f) {
			f.step("%s", named(s))
			f.toDestination(s.text("dest_ip"), s.text("dest_port"))
			return true
		}
	}
	return false
}

// toDestination gives the packet a new destination; without an address that is the device.
func (f *flight) toDestination(address, port string) {
	f.translated = true
	if a, err := netip.ParseAddr(address); err == nil {
		f.Dst = a
	} else {
		f.local = true
		if i := f.d.iface(f.In); i != nil {
			f.Dst = i.Address.Addr()
		}
	}
	if port != "" {
		f.DstPort = uint16(atoi(port)) //nolint:gosec // A port beyond the range is just as wrong on the device.
	}
}

// translateSource walks nat POSTROUTING; the first rule that covers the packet ends it.
func (f *flight) translateSource() {
	for _, r := range f.d.kernel.chains[natPost] {
		if r.service {
			if f.sourceByZone() {
				return
			}
			continue
		}
		m := r.match()
		m.in = ""
		if !m.covers(f) {
			continue
		}
		f.step("%s", r.spec())
		if r.target == "MASQUERADE" {
			f.masquerade()
		} else {
			f.fromSource(r.to, r.toPort)
		}
		return
	}
}

func (f *flight) sourceByZone() bool {
	for _, z := range f.sections("zone") {
		if !f.covers(z, f.out, f.Dst) {
			continue
		}
		for _, s := range f.sections("redirect") {
			m := matchOf(s, "dest_ip", "dest_port", "tcpudp")
			m.mac, m.icmp = "", nil
			if s.text("target") == "SNAT" && s.text("dest") == z.text("name") && m.covers(f) {
				f.step("%s", named(s))
				f.fromSource(s.text("src_dip"), s.text("src_dport"))
				return true
			}
		}
		if isTrue(z.text("masq")) && f.Dst.Is4() && anyCovers(z.items("masq_src"), f.Src) && anyCovers(z.items("masq_dest"), f.Dst) {
			f.step("%s: masquerade", named(z))
			f.masquerade()
			return true
		}
	}
	return false
}

func (f *flight) fromSource(address, port string) {
	if a, err := netip.ParseAddr(address); err == nil {
		f.Src = a
	}
	if port != "" {
		f.SrcPort = uint16(atoi(port)) //nolint:gosec // A port beyond the range is just as wrong on the device.
	}
}

func (f *flight) masquerade() {
	if i := f.d.iface(f.out); i != nil {
		f.Src = i.Address.Addr()
	}
}
