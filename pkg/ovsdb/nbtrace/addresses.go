package nbtrace

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// addressIndex finds whether an address is in a set, without walking the set.
type addressIndex struct {
	addrs    map[netip.Addr]bool
	prefixes map[netip.Prefix]bool
	bits4    []int // the prefix lengths in use, longest first
	bits6    []int
}

func newAddresses() *addressIndex {
	return &addressIndex{addrs: map[netip.Addr]bool{}, prefixes: map[netip.Prefix]bool{}}
}

func newAddressIndex(addresses []string) (*addressIndex, error) {
	x := newAddresses()
	for _, s := range addresses {
		p, ok := parsePrefix(s)
		switch {
		case !ok:
			return x, fmt.Errorf("%q is not an address", s)
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
