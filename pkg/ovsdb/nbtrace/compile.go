package nbtrace

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// matcher reports whether a packet matches.
type matcher func(*view) bool

// world is the groups and sets that matches refer to.
type world struct {
	groups map[string]map[string]bool // port group name to its ports
	sets   map[string]*addressIndex
	fields map[string]*field
}

// addressIndex finds whether an address is in a set, without walking the set.
type addressIndex struct {
	addrs    map[netip.Addr]bool
	prefixes map[netip.Prefix]bool
	bits4    []int // the prefix lengths in use, longest first
	bits6    []int
}

func newAddressIndex(addresses []string) (*addressIndex, error) {
	x := &addressIndex{addrs: map[netip.Addr]bool{}, prefixes: map[netip.Prefix]bool{}}
	for _, s := range addresses {
		p, ok := parsePrefix(s)
		switch {
		case !ok:
			return x, fmt.Errorf("%q is no address", s)
		case p.IsSingleIP():
			x.addrs[p.Addr()] = true
		default:
			x.add(p)
		}
	}
	return x, nil
}

func (x *addressIndex) add(p netip.Prefix) {
	x.prefixes[p] = true
	bits := &x.bits6
	if p.Addr().Is4() {
		bits = &x.bits4
	}
	if !slices.Contains(*bits, p.Bits()) {
		*bits = append(*bits, p.Bits())
		slices.SortFunc(*bits, func(a, b int) int { return cmp.Compare(b, a) })
	}
}

// has reports whether a is in the set.
func (x *addressIndex) has(a netip.Addr) bool {
	if x.addrs[a] {
		return true
	}
	bits := x.bits6
	if a.Is4() {
		bits = x.bits4
	}
	for _, n := range bits {
		if p, err := a.Prefix(n); err == nil && x.prefixes[p] {
			return true
		}
	}
	return false
}

func (x *addressIndex) empty() bool { return len(x.addrs) == 0 && len(x.prefixes) == 0 }

// holdsOther reports whether the set has an address of the other family.
func (x *addressIndex) holdsOther(ip4 bool) bool {
	for a := range x.addrs {
		if a.Is4() != ip4 {
			return true
		}
	}
	return ip4 && len(x.bits6) > 0 || !ip4 && len(x.bits4) > 0
}

// compile resolves the names of an expression. A name that does not exist is an error, as in ovn-controller.
func (w *world) compile(n node) (matcher, error) {
	switch n := n.(type) {
	case boolean:
		return func(*view) bool { return bool(n) }, nil
	case predicate:
		return n.field.holds, nil
	case *comparison:
		return w.compileComparison(n)
	case all:
		return w.compileParts(n, false)
	case anyOf:
		return w.compileParts(n, true)
	default:
		return nil, fmt.Errorf("unknown kind of expression %T", n)
	}
}

// compileParts stops at the first part whose result is stop.
func (w *world) compileParts(parts []node, stop bool) (matcher, error) {
	matchers := make([]matcher, len(parts))
	for i, p := range parts {
		m, err := w.compile(p)
		if err != nil {
			return nil, err
		}
		matchers[i] = m
	}
	return func(v *view) bool {
		for _, m := range matchers {
			if m(v) == stop {
				return stop
			}
		}
		return !stop
	}, nil
}

func (w *world) compileComparison(c *comparison) (matcher, error) {
	var m matcher
	var err error
	switch c.field.typ {
	case fieldPort:
		m, err = w.comparePort(c)
	case fieldIPv4, fieldIPv6:
		m, err = w.compareAddress(c)
	case fieldNumber:
		m = compareNumber(c)
	case fieldPredicate:
		err = fmt.Errorf("%s is not compared", c.field.name)
	}
	if err != nil || c.field.holds == nil {
		return m, err
	}
	if w.comparesNothing(c) {
		return func(*view) bool { return c.op == "!=" }, nil
	}
	return func(v *view) bool { return c.field.holds(v) && m(v) }, nil
}

// comparesNothing reports whether c has only empty sets to compare with. OVN replaces such a comparison by 0 or 1 before
// it adds the prerequisites of the field: `ip4.src != $empty' matches IPv6 too.
func (w *world) comparesNothing(c *comparison) bool {
	return !slices.ContainsFunc(c.values, func(v value) bool { return v.kind != valueSet || !w.sets[v.set].empty() })
}

func (w *world) comparePort(c *comparison) (matcher, error) {
	ports, err := w.ports(c)
	if err != nil {
		return nil, err
	}
	return func(v *view) bool {
		port := c.field.port(v)
		return port != "" && ports[port]
	}, nil
}

// ports is every port that a comparison with ports refers to.
func (w *world) ports(c *comparison) (map[string]bool, error) {
	if len(c.values) == 1 && c.values[0].kind == valueGroup {
		if ports, ok := w.groups[c.values[0].group]; ok {
			return ports, nil
		}
	}
	ports := map[string]bool{}
	for _, v := range c.values {
		if v.kind == valueText {
			ports[v.text] = true
			continue
		}
		members, ok := w.groups[v.group]
		if !ok {
			return nil, fmt.Errorf("no port group is named %s", v)
		}
		for p := range members {
			ports[p] = true
		}
	}
	return ports, nil
}

func (w *world) compareAddress(c *comparison) (matcher, error) {
	if c.op != "==" && c.op != "!=" {
		limit := c.values[0].prefix.Addr()
		return func(v *view) bool { return ordered(c.op, c.field.addr(v).Compare(limit)) }, nil
	}
	inline := &addressIndex{addrs: map[netip.Addr]bool{}, prefixes: map[netip.Prefix]bool{}}
	sets := []*addressIndex{inline}
	for _, v := range c.values {
		switch {
		case v.kind == valueSet:
			set, ok := w.sets[v.set]
			if !ok {
				return nil, fmt.Errorf("no address set is named %s", v)
			}
			if set.holdsOther(c.field.typ == fieldIPv4) {
				return nil, fmt.Errorf("address set %s contains addresses that do not fit %s", v, c.field.name)
			}
			sets = append(sets, set)
		case v.prefix.IsSingleIP():
			inline.addrs[v.prefix.Addr()] = true
		default:
			inline.add(v.prefix)
		}
	}
	equal := c.op == "=="
	return func(v *view) bool {
		a := c.field.addr(v)
		return slices.ContainsFunc(sets, func(x *addressIndex) bool { return x.has(a) }) == equal
	}, nil
}

func compareNumber(c *comparison) matcher {
	if c.op == "==" || c.op == "!=" {
		equal := c.op == "=="
		return func(v *view) bool {
			n := c.field.number(v)
			return slices.ContainsFunc(c.values, func(x value) bool { return x.number == n }) == equal
		}
	}
	limit := c.values[0].number
	return func(v *view) bool { return ordered(c.op, cmp.Compare(c.field.number(v), limit)) }
}

// ordered reports whether a comparison with the result c satisfies op.
func ordered(op string, c int) bool {
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	default:
		return c >= 0
	}
}

// groupsIn lists the port groups that n names.
func groupsIn(n node) []string {
	var names []string
	switch n := n.(type) {
	case *comparison:
		for _, v := range n.values {
			if v.kind == valueGroup {
				names = append(names, v.group)
			}
		}
	case all:
		for _, p := range n {
			names = append(names, groupsIn(p)...)
		}
	case anyOf:
		for _, p := range n {
			names = append(names, groupsIn(p)...)
		}
	}
	return names
}

// required finds the ports outside of which n cannot match, from a comparison of the field that n demands. Nil means no
// limit.
func (w *world) required(n node, fieldName string) map[string]bool {
	switch n := n.(type) {
	case *comparison:
		if n.field.name != fieldName {
			return nil
		}
		ports, err := w.ports(n)
		if err != nil {
			return nil
		}
		return ports
	case all:
		for _, p := range n {
			if ports := w.required(p, fieldName); ports != nil {
				return ports
			}
		}
	}
	return nil
}
