package nbtrace

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// matcher reports whether a packet matches.
type matcher func(*view) truth

// world is the groups and sets that matches refer to.
type world struct {
	groups  map[string]map[string]bool // port group name to its ports
	sets    map[string]*addressIndex
	unclear map[string]bool // names of sets whose addresses cannot be read
	fields  map[string]*field
}

// compile resolves the names of an expression. A name that does not exist is an error, as in ovn-controller.
func (w *world) compile(n node) (matcher, error) {
	switch n := n.(type) {
	case boolean:
		return func(*view) truth { return truthOf(bool(n)) }, nil
	case predicate:
		return n.field.holds, nil
	case *comparison:
		return w.compileComparison(n)
	case *bits:
		return compileBits(n), nil
	case unclear:
		return func(*view) truth { return maybe }, nil
	case all:
		return w.compileParts(n, no)
	case anyOf:
		return w.compileParts(n, yes)
	default:
		return nil, fmt.Errorf("unknown kind of expression %T", n)
	}
}

// compileParts stops at the first part whose result is stop.
func (w *world) compileParts(parts []node, stop truth) (matcher, error) {
	matchers := make([]matcher, len(parts))
	for i, p := range parts {
		m, err := w.compile(p)
		if err != nil {
			return nil, err
		}
		matchers[i] = m
	}
	return func(v *view) truth {
		result := -stop
		for _, m := range matchers {
			t := m(v)
			if t == stop {
				return stop
			}
			if t == maybe {
				result = maybe
			}
		}
		return result
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
		m = compareNumber(c.op, c.values, c.field.number)
	case fieldPredicate, fieldUnclear:
		err = fmt.Errorf("%s is not compared", c.field.name)
	}
	if err != nil || c.field.holds == nil {
		return m, err
	}
	if w.comparesNothing(c) {
		return func(*view) truth { return truthOf(c.op == "!=") }, nil
	}
	return func(v *view) truth { return c.field.holds(v).and(m(v)) }, nil
}

// comparesNothing reports whether c has only empty sets to compare with. OVN replaces such a comparison by 0 or 1 before
// it adds the prerequisites of the field: `ip4.src != $empty' matches IPv6 too.
func (w *world) comparesNothing(c *comparison) bool {
	return !slices.ContainsFunc(c.values, func(v value) bool {
		return v.kind != valueSet || w.unclear[v.set] || !w.sets[v.set].empty()
	})
}

func (w *world) comparePort(c *comparison) (matcher, error) {
	ports, err := w.ports(c)
	if err != nil {
		return nil, err
	}
	return func(v *view) truth {
		port := c.field.port(v)
		return truthOf(port != "" && ports[port])
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
		return func(v *view) truth { return truthOf(ordered(c.op, c.field.addr(v).Compare(limit))) }, nil
	}
	inline := newAddresses()
	sets := []*addressIndex{inline}
	unread := no
	for _, v := range c.values {
		switch {
		case v.kind == valueSet && w.unclear[v.set]:
			unread = maybe
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
	sign := yes
	if c.op == "!=" {
		sign = no
	}
	return func(v *view) truth {
		a := c.field.addr(v)
		if slices.ContainsFunc(sets, func(x *addressIndex) bool { return x.has(a) }) {
			return sign
		}
		return sign * unread
	}, nil
}

// compareNumber compares a number, which may be one of several.
func compareNumber(op string, values []value, get func(*view) (lowest, highest uint64)) matcher {
	if op == "==" || op == "!=" {
		sign := yes
		if op == "!=" {
			sign = no
		}
		return func(v *view) truth {
			low, high := get(v)
			result := no
			for i := range values {
				result = max(result, values[i].equals(low, high))
			}
			return sign * result
		}
	}
	limit := values[0].number
	return func(v *view) truth {
		low, high := get(v)
		first, last := ordered(op, cmp.Compare(low, limit)), ordered(op, cmp.Compare(high, limit))
		if first != last {
			return maybe
		}
		return truthOf(first)
	}
}

// equals compares a number from low to high with v.
func (v *value) equals(low, high uint64) truth {
	switch {
	case low == high:
		return truthOf(low&v.mask == v.number)
	case v.mask == wholeNumber && (v.number < low || v.number > high):
		return no
	}
	return maybe
}

// compileBits compares some bits of a field.
func compileBits(b *bits) matcher {
	whole := wholeNumber >> (63 - (b.last - b.first))
	m := compareNumber(b.op, b.values, func(v *view) (uint64, uint64) {
		if b.field.typ == fieldNumber {
			low, high := b.field.number(v)
			if low != high {
				return 0, whole
			}
			return low >> b.first & whole, low >> b.first & whole
		}
		n := bitsOf(b.field.addr(v), b.first) & whole
		return n, n
	})
	if b.field.holds == nil {
		return m
	}
	return func(v *view) truth { return b.field.holds(v).and(m(v)) }
}

// bitsOf is the 64 bits of an address from the one numbered first, which counts from the lowest.
func bitsOf(a netip.Addr, first int) uint64 {
	var n uint64
	bytes := a.AsSlice()
	for i := range 64 {
		at := first + i
		if index := len(bytes) - 1 - at/8; index >= 0 && bytes[index]>>(at%8)&1 == 1 {
			n |= 1 << i
		}
	}
	return n
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
