package nbtrace

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// sight is what ACLs can distinguish: ports and addresses, by the groups, sets and constants that matches name.
type sight struct {
	names  map[string]int // numbers of groups, ports, sets and constants
	ports  map[string][]int
	addrs  map[netip.Addr][]int
	blocks map[netip.Prefix][]int
	bits4  []int // the prefix lengths in use
	bits6  []int
	tests  []addressTest
}

// addressTest is a condition on an address that is not a prefix.
type addressTest struct {
	number int
	holds  func(netip.Addr) bool
}

// looks is what of a packet a rule depends on.
type looks struct {
	root node
	at   []int // groups, ports, sets and constants
	cuts []Cut
}

// Cut is a destination port from which on a match may have another result than just below it.
type Cut struct {
	Protocol uint8
	Port     uint16
}

func newSight() sight {
	return sight{names: map[string]int{}, ports: map[string][]int{}, addrs: map[netip.Addr][]int{}, blocks: map[netip.Prefix][]int{}}
}

// index numbers everything that rules name, and finds what each rule depends on.
func (s *sight) index(w *world, rules map[string]*rule) {
	for _, uuid := range slices.Sorted(maps.Keys(rules)) {
		r := rules[uuid]
		found := map[int]bool{}
		s.visit(w, r.looks.root, found, &r.looks.cuts)
		r.looks.at = slices.Sorted(maps.Keys(found))
		r.looks.cuts = sortedCuts(r.looks.cuts)
	}
	for _, bits := range []*[]int{&s.bits4, &s.bits6} {
		slices.Sort(*bits)
		*bits = slices.Compact(*bits)
	}
}

func sortedCuts(cuts []Cut) []Cut {
	slices.SortFunc(cuts, func(a, b Cut) int { return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Port, b.Port)) })
	return slices.Compact(cuts)
}

func (s *sight) visit(w *world, n node, found map[int]bool, cuts *[]Cut) {
	switch n := n.(type) {
	case *comparison:
		for _, v := range n.values {
			switch v.kind {
			case valueNumber:
				*cuts = appendCuts(*cuts, n.field, n.op, v)
			case valueGroup, valueText:
				found[s.portNumber(w, v)] = true
			case valueSet, valuePrefix:
				found[s.addressNumber(w, n.op, v)] = true
			}
		}
	case *bits:
		if n.field.typ == fieldNumber {
			return // not a destination port
		}
		name := n.format(false)
		number, known := s.names[name]
		if !known {
			number = s.number(name)
			ip4 := n.field.typ == fieldIPv4
			match := compileBits(&bits{field: &field{typ: n.field.typ, addr: func(v *view) netip.Addr { return v.Src }}, first: n.first, last: n.last, op: n.op, values: n.values})
			s.tests = append(s.tests, addressTest{number, func(a netip.Addr) bool {
				return a.Is4() == ip4 && match(&view{Packet: Packet{Src: a}}) == yes
			}})
		}
		found[number] = true
	case all:
		for _, p := range n {
			s.visit(w, p, found, cuts)
		}
	case anyOf:
		for _, p := range n {
			s.visit(w, p, found, cuts)
		}
	}
}

// number returns a new number for a name.
func (s *sight) number(name string) int {
	n := len(s.names)
	s.names[name] = n
	return n
}

// portNumber is the number of a group or a port.
func (s *sight) portNumber(w *world, v value) int {
	name := v.String()
	if n, known := s.names[name]; known {
		return n
	}
	n := s.number(name)
	if v.kind == valueText {
		s.ports[v.text] = append(s.ports[v.text], n)
		return n
	}
	for p := range w.groups[v.group] {
		s.ports[p] = append(s.ports[p], n)
	}
	return n
}

// addressNumber is the number of a set, a prefix, or an address that others are ordered by.
func (s *sight) addressNumber(w *world, op string, v value) int {
	name := v.String()
	between := op != "==" && op != "!="
	if between {
		name = op + name
	}
	if n, known := s.names[name]; known {
		return n
	}
	n := s.number(name)
	switch {
	case between:
		for _, p := range beyond(op, v.prefix.Addr()) {
			s.addBlock(p, n)
		}
	case v.kind == valuePrefix:
		s.addBlock(v.prefix, n)
	case w.sets[v.set] != nil:
		for a := range w.sets[v.set].addrs {
			s.addrs[a] = append(s.addrs[a], n)
		}
		for p := range w.sets[v.set].prefixes {
			s.addBlock(p, n)
		}
	}
	return n
}

func (s *sight) addBlock(p netip.Prefix, n int) {
	if p.IsSingleIP() {
		s.addrs[p.Addr()] = append(s.addrs[p.Addr()], n)
		return
	}
	s.blocks[p] = append(s.blocks[p], n)
	if p.Addr().Is4() {
		s.bits4 = append(s.bits4, p.Bits())
	} else {
		s.bits6 = append(s.bits6, p.Bits())
	}
}

// Prefixes lists the prefixes and addresses that matches and their sets name, in no order.
func (t *Tracer) Prefixes() []netip.Prefix {
	out := slices.Collect(maps.Keys(t.blocks))
	for a := range t.addrs {
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	return out
}

// appendCuts adds the destination ports where a comparison changes.
func appendCuts(cuts []Cut, of *field, op string, v value) []Cut {
	protocol, ok := protocolOf(of.name)
	if !ok {
		return cuts
	}
	from, to := v.number, v.number+1
	switch {
	case v.mask != wholeNumber:
		to = v.number + 0xffff&^v.mask + 1
	case op == "<" || op == ">=":
		to = from
	case op == "<=" || op == ">":
		from = to
	}
	for _, n := range []uint64{from, to} {
		if n <= 0xffff {
			cuts = append(cuts, Cut{protocol, uint16(n)})
		}
	}
	return cuts
}

// beyond lists the addresses that op relates to a limit, as prefixes.
func beyond(op string, limit netip.Addr) []netip.Prefix {
	var out []netip.Prefix
	if op[1:] == "=" {
		out = append(out, netip.PrefixFrom(limit, limit.BitLen()))
	}
	up := op[0] == '>'
	for bits := 1; bits <= limit.BitLen(); bits++ {
		bytes := limit.AsSlice()
		at, bit := (bits-1)/8, byte(0x80)>>((bits-1)%8)
		if (bytes[at]&bit == 0) != up {
			continue
		}
		bytes[at] ^= bit
		if a, ok := netip.AddrFromSlice(bytes); ok {
			out = append(out, netip.PrefixFrom(a, bits).Masked())
		}
	}
	return out
}

// protocolOf is the protocol of whose destination port a field is.
func protocolOf(fieldName string) (uint8, bool) {
	protocol, ok := map[string]uint8{"tcp.dst": protoTCP, "udp.dst": protoUDP, "sctp.dst": protoSCTP}[fieldName]
	return protocol, ok
}

// End is one end of connections as ACLs see it. Ends with equal keys are treated alike.
type End struct {
	Port string // "" is the outside, or a port of another database
	Addr netip.Addr
	sw   string
	seen []int // numbers of what contains the port or the address, in order
}

// End describes an end of connections.
func (t *Tracer) End(port string, a netip.Addr) End {
	e := End{Port: port, Addr: a, sw: t.switchOf[port]}
	if port != "" {
		e.seen = append(e.seen, t.ports[port]...)
	}
	e.seen = append(e.seen, t.addrs[a]...)
	bits := t.bits6
	if a.Is4() {
		bits = t.bits4
	}
	for _, n := range bits {
		if p, err := a.Prefix(n); err == nil {
			e.seen = append(e.seen, t.blocks[p]...)
		}
	}
	for i := range t.tests {
		if t.tests[i].holds(a) {
			e.seen = append(e.seen, t.tests[i].number)
		}
	}
	slices.Sort(e.seen)
	e.seen = slices.Compact(e.seen)
	return e
}

// Key identifies what ACLs can tell about e.
func (e *End) Key() string {
	return fmt.Sprintf("%t %t %q ", e.Port != "", e.Addr.Is4(), e.sw) + string(spell(nil, e.seen))
}

func spell(b []byte, numbers []int) []byte {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, uint64(n)) //nolint:gosec // an index
	}
	return b
}
