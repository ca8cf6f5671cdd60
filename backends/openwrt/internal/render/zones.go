package render

import (
	"errors"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends/openwrt/internal/firewall"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Rules and translations between zones: the kinds of the package firewall.

func (r *renderer) zone(w *Wanted, s *intent.Zone) (openwrt.Resource, error) {
	z := openwrt.Zone{Name: w.Name, ExtraSrc: s.RawSrc, ExtraDest: s.RawDst}
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	for _, n := range s.Networks {
		iface, err := r.network(n)
		note(err)
		z.Network = append(z.Network, iface)
	}
	for _, p := range s.Subnets {
		text, err := prefixWord("subnet", p)
		note(err)
		z.Subnet = append(z.Subnet, text)
	}
	for _, l := range []struct {
		field string
		from  []intent.PrefixMatch
		to    *[]string
	}{{"masqueraded source", s.MasqueradeFrom, &z.MasqSrc}, {"masqueraded destination", s.MasqueradeTo, &z.MasqDest}} {
		for _, m := range l.from {
			text, err := prefixWord(l.field, m.Prefix)
			note(err)
			if text != "" && m.Not {
				text = "!" + text
			}
			*l.to = append(*l.to, text)
		}
	}
	for to, t := range map[*string]intent.Toggle{&z.Masq: s.Masquerade, &z.MasqAllowInvalid: s.AllowInvalid, &z.MTUFix: s.ClampMSS} {
		text, err := toggle(t)
		note(err)
		*to = text
	}
	for to, d := range map[*string]intent.Disposition{&z.Input: s.Input, &z.Forward: s.Forward, &z.Output: s.Output} {
		text, err := dispositionWord(d, intent.Accept, intent.Reject, intent.Drop)
		note(err)
		*to = text
	}
	var err error
	z.Family, err = familyWord(s.Family, "any")
	note(err)
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return z, errors.Join(errs...)
}

// between finds the zones of a rule.
func (r *renderer) between(w *Wanted, from, to intent.DeviceRef) (src, dst string, err error) {
	src, errFrom := r.refer(w, openwrt.Zones, from)
	dst, errTo := r.refer(w, openwrt.Zones, to)
	return src, dst, errors.Join(errFrom, errTo)
}

func (r *renderer) forwarding(w *Wanted, s *intent.Forwarding) (openwrt.Resource, error) {
	src, dst, err := r.between(w, s.From, s.To)
	if err == nil && (src == "" || dst == "") {
		err = errors.New("a forwarding requires two zones")
	}
	family, errFamily := familyWord(s.Family, "any")
	return openwrt.Forwarding{Name: w.Name, Src: src, Dest: dst, Family: family}, errors.Join(err, errFamily)
}

// portedZones returns the protocols for which the firewall matches ports.
func portedZones() []string { return []string{"tcp", "udp", "tcpudp", "udplite", "sctp"} }

func (r *renderer) firewallRule(w *Wanted, s *intent.FirewallRule) (openwrt.Resource, error) {
	src, dst, err := r.between(w, s.From, s.To)
	c, errMatch := read(&s.Match, "all", "any", portedZones()...)
	f, errVerdict := decide(s.Decides, s.SetMark, s.XorMark)
	f.Name, f.Src, f.Dest = w.Name, src, dst
	f.SrcIP, f.DestIP, f.SrcPort, f.DestPort, f.Proto, f.Family = c.src, c.dst, c.srcPort, c.dstPort, c.proto, c.family
	f.SrcMAC, f.ICMPType, f.Mark, f.Extra = s.Match.SrcMAC, s.Match.ICMPTypes, s.Match.Mark, s.Raw
	w.Denies = s.Decides == intent.Drop || s.Decides == intent.Reject
	rule := openwrt.FirewallRule(f)
	if r.guard {
		rule = firewall.Guarded(rule)
	}
	return rule, errors.Join(err, errMatch, errVerdict, markWord("mark", s.Match.Mark))
}

// decide formats what a rule does.
func decide(d intent.Disposition, setMark, xorMark string) (openwrt.Filter, error) {
	target, err := dispositionWord(d, intent.Accept, intent.Reject, intent.Drop, intent.Mark, intent.NoTrack)
	if err == nil && d == intent.Mark && setMark+xorMark == "" {
		err = errors.New("mark to set: not set")
	}
	f := openwrt.Filter{Target: target, SetMark: setMark, SetXMark: xorMark}
	return f, errors.Join(err, markWord("mark to set", setMark), markWord("mark to set", xorMark))
}

func (r *renderer) zoneNAT(w *Wanted, s *intent.ZoneNAT) (openwrt.Resource, error) {
	src, dst, err := r.between(w, s.From, s.To)
	c, errMatch := read(&s.Match, "all", "any", portedZones()...)
	addr, errAddr := addrWord("new address", s.Addr)
	n := openwrt.Redirect{
		Name: w.Name, Src: src, Dest: dst, SrcIP: c.src, SrcPort: c.srcPort, SrcMAC: s.Match.SrcMAC, Mark: s.Match.Mark,
		Proto: c.proto, Family: c.family,
	}
	known := []string{"hardware address", "mark"}
	var errKind error
	switch s.Kind {
	case intent.SourceNAT:
		n.Target, n.SrcDIP, n.SrcDPort, n.DestIP, n.DestPort = "SNAT", addr, number(s.Port), c.dst, c.dstPort
		known = known[1:] // it is not needed any more by then
		if dst == "" || addr == "" {
			errKind = errors.New("a new source requires an address and the destination zone")
		}
	case intent.DestinationNAT:
		n.Target, n.SrcDIP, n.SrcDPort, n.DestIP, n.DestPort = "DNAT", c.dst, c.dstPort, addr, number(s.Port)
		if src == "" {
			errKind = errors.New("a new destination requires the source zone")
		}
	case intent.Masquerade:
		errKind = errors.New("masquerading between zones is a setting of the zone")
	default:
		errKind = errors.New("the device does not support this translation")
	}
	if s.Port != 0 && errMatch == nil && !slices.Contains(portedZones(), c.proto) {
		errMatch = errors.New("new port: the protocol has no ports")
	}
	return n, errors.Join(err, errMatch, errAddr, errKind, without(&s.Match, known...), markWord("mark", s.Match.Mark))
}
