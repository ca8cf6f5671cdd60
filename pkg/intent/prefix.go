package intent

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
)

// SubtractPrefixes returns block without the excepts: disjoint prefixes in order, as few as there can be. Excepts may
// overlap, nest, lie outside or be of the other family. E excepts cost O(E log E + E·bits), where bits is the length of an
// address.
func SubtractPrefixes(block netip.Prefix, excepts []netip.Prefix) []netip.Prefix {
	rest, _ := SubtractAtMost(block, excepts, math.MaxInt)
	return rest
}

// SubtractAtMost returns SubtractPrefixes for a result of at most limit prefixes. It returns nil and false for a longer
// one, and stops as soon as that is known, so the cost is bounded by limit and the number of excepts.
func SubtractAtMost(block netip.Prefix, excepts []netip.Prefix, limit int) ([]netip.Prefix, bool) {
	inside := make([]netip.Prefix, 0, len(excepts))
	for _, e := range excepts {
		switch {
		case !e.Overlaps(block):
		case e.Bits() <= block.Bits():
			return nil, true
		default:
			inside = append(inside, e.Masked())
		}
	}
	inside = MergePrefixes(inside)
	s := subtraction{limit: limit}
	if !s.walk(block, inside) {
		return nil, false
	}
	if s.count == 0 {
		return nil, true
	}
	s = subtraction{limit: limit, rest: make([]netip.Prefix, 0, s.count)}
	s.walk(block, inside)
	return s.rest, true
}

// subtraction counts what remains of a block and, unless rest is nil, collects it, lowest address first.
type subtraction struct {
	rest  []netip.Prefix
	count int
	limit int // of count
}

// walk adds what remains of block without excepts, which are sorted, disjoint and inside block. It returns false once
// there are more than limit prefixes.
func (s *subtraction) walk(block netip.Prefix, excepts []netip.Prefix) bool {
	if len(excepts) == 0 {
		if s.rest != nil {
			s.rest = append(s.rest, block)
		}
		s.count++
		return s.count <= s.limit
	}
	if excepts[0].Bits() <= block.Bits() {
		return true
	}
	low, high := halves(block)
	split, _ := slices.BinarySearchFunc(excepts, high.Addr(), func(e netip.Prefix, a netip.Addr) int {
		return e.Addr().Compare(a)
	})
	return s.walk(low, excepts[:split]) && s.walk(high, excepts[split:])
}

// halves splits p, which must be shorter than an address, into its two halves.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	bits := p.Bits() + 1
	at, bit := p.Bits()/8, byte(0x80)>>(p.Bits()%8)
	var upper netip.Addr
	if p.Addr().Is4() {
		raw := p.Addr().As4()
		raw[at] |= bit
		upper = netip.AddrFrom4(raw)
	} else {
		raw := p.Addr().As16()
		raw[at] |= bit
		upper = netip.AddrFrom16(raw)
	}
	return netip.PrefixFrom(p.Addr(), bits), netip.PrefixFrom(upper, bits)
}

// MergePrefixes sorts prefixes, drops those that another covers and joins adjacent ones, so that equal sets of
// addresses are equal lists. It returns a new slice.
func MergePrefixes(prefixes []netip.Prefix) []netip.Prefix {
	sorted := slices.Clone(prefixes)
	if !slices.IsSortedFunc(sorted, ComparePrefixes) {
		slices.SortFunc(sorted, ComparePrefixes)
	}
	merged := sorted[:0] // never longer than what was read
	for _, p := range sorted {
		if n := len(merged); n > 0 && merged[n-1].Overlaps(p) {
			continue // sorted by address, shorter first: the earlier one covers p
		}
		merged = append(merged, p)
		for n := len(merged); n > 1; n = len(merged) {
			parent, ok := join(merged[n-2], merged[n-1])
			if !ok {
				break
			}
			merged = append(merged[:n-2], parent)
		}
	}
	switch {
	case len(merged) == 0:
		return nil
	case len(merged) < cap(merged)/2: // do not keep what is not used
		return slices.Clone(merged)
	default:
		return merged
	}
}

// join returns the prefix whose two halves are a and b.
func join(a, b netip.Prefix) (netip.Prefix, bool) {
	if a.Bits() != b.Bits() || a.Bits() == 0 || a.Addr().Is4() != b.Addr().Is4() {
		return netip.Prefix{}, false
	}
	parent := netip.PrefixFrom(a.Addr(), a.Bits()-1).Masked()
	return parent, parent.Addr() == a.Addr() && parent.Contains(b.Addr())
}

// ComparePrefixes orders prefixes by address, shorter first.
func ComparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}
