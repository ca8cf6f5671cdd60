package nbtrace

import (
	mathbits "math/bits"
	"net/netip"
	"slices"
)

// The EtherTypes and protocols that fields imply.
const (
	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherIPv6 = 0x86dd

	protoICMP   = 1
	protoIGMP   = 2
	protoTCP    = 6
	protoUDP    = 17
	protoICMPv6 = 58
	protoSCTP   = 132
)

type fieldType uint8

const (
	fieldPredicate fieldType = iota // true or false
	fieldNumber
	fieldIPv4
	fieldIPv6
	fieldPort // the name of a logical port
	fieldUnclear
)

// field is a word of the expression language.
type field struct {
	name  string
	typ   fieldType
	exact bool   // may only be tested for equality, not negated: OVN calls it nominal
	bit   bool   // may stand alone, for "== 1"
	cuts  bool   // is a destination port
	limit uint64 // the largest value of a number
	// holds is the prerequisite of the field: a comparison is false if it is not met, whatever its operator. For a
	// predicate it is the meaning. Nil is always met.
	holds  func(*view) truth
	number func(*view) (lowest, highest uint64) // the same, unless it is not known which of several
	addr   func(*view) netip.Addr
	port   func(*view) string
}

// part is the field as which some bits of f are compared; nil if there is none.
func (f *field) part(bits *[2]int) *field {
	width := 0
	switch f.typ {
	case fieldNumber:
		width = mathbits.Len64(f.limit)
	case fieldIPv4:
		width = 32
	case fieldIPv6:
		width = 128
	case fieldPredicate, fieldPort, fieldUnclear:
	}
	n := bits[1] - bits[0] + 1
	if bits[1] >= width || n > 64 || f.exact || f.cuts {
		return nil
	}
	return &field{name: f.name, typ: fieldNumber, limit: wholeNumber >> (64 - n)}
}

// view is a packet as fields see it.
type view struct {
	Packet
	ether   uint64
	inport  string
	outport string
	tracked bool // the switch tracks its connection
}

func newView(p *Packet, inport, outport string) *view {
	v := &view{Packet: *p, inport: inport, outport: outport}
	v.Src, v.Dst = p.Src.Unmap().WithZone(""), p.Dst.Unmap().WithZone("")
	switch {
	case p.ARP:
		v.ether = etherARP
	case v.Src.Is4() && v.Dst.Is4():
		v.ether = etherIPv4
	case v.Src.Is6() && v.Dst.Is6():
		v.ether = etherIPv6
	}
	return v
}

func (v *view) ip4() bool { return v.ether == etherIPv4 }
func (v *view) ip6() bool { return v.ether == etherIPv6 }
func (v *view) ip() bool  { return v.ip4() || v.ip6() }

func (v *view) proto(n uint8) bool { return v.ip() && v.Protocol == n }
func (v *view) icmp4() bool        { return v.ip4() && v.Protocol == protoICMP }
func (v *view) icmp6() bool        { return v.ip6() && v.Protocol == protoICMPv6 }

func (v *view) icmp6Type(types ...uint8) bool {
	return v.icmp6() && slices.Contains(types, v.ICMPType)
}

// unblocked reports whether v is a message that OVN lets pass every ACL of a switch that tracks connections: neighbor
// and router discovery, and multicast listener reports.
func (v *view) unblocked() bool { return v.icmp6Type(130, 131, 132, 133, 134, 135, 136, 143) }

// vocabulary is every field by its name.
func vocabulary() map[string]*field {
	fields := map[string]*field{}
	add := func(f *field) { fields[f.name] = f }
	word := func(name string, holds func(*view) bool) {
		add(&field{name: name, typ: fieldPredicate, exact: true, holds: known(holds)})
	}
	word("ip", (*view).ip)
	word("ip4", (*view).ip4)
	word("ip6", (*view).ip6)
	word("arp", func(v *view) bool { return v.ether == etherARP })
	word("icmp4", (*view).icmp4)
	word("icmp6", (*view).icmp6)
	word("icmp", func(v *view) bool { return v.icmp4() || v.icmp6() })
	word("igmp", func(v *view) bool { return v.ip4() && v.Protocol == protoIGMP })
	word("nd", func(v *view) bool { return v.icmp6Type(135, 136) })
	word("nd_ns", func(v *view) bool { return v.icmp6Type(135) })
	word("nd_na", func(v *view) bool { return v.icmp6Type(136) })
	word("nd_rs", func(v *view) bool { return v.icmp6Type(133) })
	word("nd_ra", func(v *view) bool { return v.icmp6Type(134) })
	word("mldv1", func(v *view) bool { return v.icmp6Type(130, 131, 132) })
	word("mldv2", func(v *view) bool { return v.icmp6Type(143) })
	word("ip4.mcast", func(v *view) bool { return v.ip4() && v.Dst.IsMulticast() })
	word("ip6.mcast", func(v *view) bool { return v.ip6() && v.Dst.IsMulticast() })

	add(&field{name: "inport", typ: fieldPort, exact: true, port: func(v *view) string { return v.inport }})
	add(&field{name: "outport", typ: fieldPort, exact: true, port: func(v *view) string { return v.outport }})
	number := func(name string, exact bool, limit uint64, holds func(*view) bool, get func(*view) uint64) {
		f := &field{name: name, typ: fieldNumber, exact: exact, limit: limit, number: func(v *view) (uint64, uint64) {
			n := get(v)
			return n, n
		}}
		if holds != nil {
			f.holds = known(holds)
		}
		add(f)
	}
	bit := func(name string, get func(*view) bool) {
		number(name, false, 1, nil, func(v *view) uint64 {
			if get(v) {
				return 1
			}
			return 0
		})
		fields[name].bit = true
	}
	bit("flags.loopback", func(v *view) bool { return v.loopback })
	fields["flags.loopback"].exact = true
	addConnection(bit, number)
	number("eth.type", true, 0xffff, nil, func(v *view) uint64 { return v.ether })
	number("ip.proto", true, 0xff, (*view).ip, func(v *view) uint64 { return uint64(v.Protocol) })
	icmpType := func(v *view) uint64 { return uint64(v.ICMPType) }
	number("icmp4.type", true, 0xff, (*view).icmp4, icmpType)
	number("icmp6.type", true, 0xff, (*view).icmp6, icmpType)
	for name, n := range map[string]uint8{"tcp": protoTCP, "udp": protoUDP, "sctp": protoSCTP} {
		is := func(v *view) bool { return v.proto(n) }
		word(name, is)
		add(&field{name: name + ".src", typ: fieldNumber, limit: 0xffff, holds: known(is), number: (*view).sourcePort})
		number(name+".dst", false, 0xffff, is, func(v *view) uint64 { return uint64(v.DstPort) })
		fields[name+".dst"].cuts = true
	}
	src := func(v *view) netip.Addr { return v.Src }
	dst := func(v *view) netip.Addr { return v.Dst }
	add(&field{name: "ip4.src", typ: fieldIPv4, holds: known((*view).ip4), addr: src})
	add(&field{name: "ip4.dst", typ: fieldIPv4, holds: known((*view).ip4), addr: dst})
	add(&field{name: "ip6.src", typ: fieldIPv6, holds: known((*view).ip6), addr: src})
	add(&field{name: "ip6.dst", typ: fieldIPv6, holds: known((*view).ip6), addr: dst})
	return fields
}

// addConnection adds what OVN knows of a connection: a packet is the first of its own, so nothing is marked.
func addConnection(bit func(string, func(*view) bool), number func(string, bool, uint64, func(*view) bool, func(*view) uint64)) {
	for _, name := range []string{"ct.trk", "ct.new"} {
		bit(name, func(v *view) bool { return v.tracked })
	}
	never := func(*view) bool { return false }
	for _, name := range []string{"ct.est", "ct.rel", "ct.rpl", "ct.inv", "ct.snat", "ct.dnat", "ct_mark.blocked", "ct_label.blocked"} {
		bit(name, never)
	}
	zero := func(*view) uint64 { return 0 }
	number("ct_mark", false, 0xffffffff, nil, zero)
	number("ct_label", false, wholeNumber, nil, zero)
}

// The ports from which clients connect if they do not choose one: those of Linux by default.
const (
	firstEphemeral = 32768
	lastEphemeral  = 60999
)

// sourcePort is one of the ephemeral ports if the packet does not name it.
func (v *view) sourcePort() (lowest, highest uint64) {
	if v.SrcPort == 0 {
		return firstEphemeral, lastEphemeral
	}
	return uint64(v.SrcPort), uint64(v.SrcPort)
}

// known makes a condition that is always known.
func known(holds func(*view) bool) func(*view) truth {
	return func(v *view) truth { return truthOf(holds(v)) }
}
