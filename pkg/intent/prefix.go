package intent

import (
	"cmp"
	"net/netip"
	"slices"
)

// SubtractPrefixes is block without the excepts, as disjoint prefixes. Excepts may overlap, nest, lie outside or be of the other
// family.
func SubtractPrefixes(block netip.Prefix, excepts []netip.Prefix) []netip.Prefix {
	inside := false
	for _, e := range excepts {
		if !e.Overlaps(block) {
			continue
		}
		if e.Bits() <= block.Bits() {
			return nil
		}
		inside = true
	}
	if !inside {
		return []netip.Prefix{block}
	}
	low, high := halves(block)
	return append(SubtractPrefixes(low, excepts), SubtractPrefixes(high, excepts)...)
}

// halves splits p, which must be shorter than an address, into its two halves.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	bits := p.Bits() + 1
	raw := p.Addr().AsSlice()
	raw[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	upper, _ := netip.AddrFromSlice(raw)
	return netip.PrefixFrom(p.Addr(), bits), netip.PrefixFrom(upper, bits)
}

// MergePrefixes sorts prefixes, drops what another covers and joins neighbours, so that equal sets of addresses are
// equal lists. It returns a new slice.
func MergePrefixes(prefixes []netip.Prefix) []netip.Prefix {
	sorted := slices.Clone(prefixes)
	slices.SortFunc(sorted, ComparePrefixes)
	var merged []netip.Prefix
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
	return merged
}

// join is the prefix that a and b are the two halves of.
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
