package translator

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// parsePrefix reads a CIDR as stored policies hold them: host bits are masked off, leading zeros in IPv4 are decimal,
// and an IPv4-mapped block is the IPv4 block it maps.
func parsePrefix(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		p, err = netip.ParsePrefix(withoutLeadingZeros(s))
	}
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not a CIDR such as 10.0.0.0/8 or 2001:db8::/32", s)
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}

// parseAddr reads an address as stored objects hold them: leading zeros in IPv4 are decimal, an IPv4-mapped address is
// the IPv4 address it maps, and a zone means nothing.
func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil {
		a, err = netip.ParseAddr(decimalOctets(s))
	}
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%q is not an IP address", s)
	}
	return a.Unmap().WithZone(""), nil
}

func withoutLeadingZeros(s string) string {
	addr, bits, _ := strings.Cut(s, "/")
	return decimalOctets(addr) + "/" + bits
}

// decimalOctets is an IPv4 address without leading zeros, and anything else as it is.
func decimalOctets(s string) string {
	octets := strings.Split(s, ".")
	for i, o := range octets {
		n, err := strconv.ParseUint(o, 10, 8)
		if err != nil {
			return s
		}
		octets[i] = strconv.FormatUint(n, 10)
	}
	return strings.Join(octets, ".")
}

// subtract is block without the excepts, as disjoint prefixes. Excepts may overlap, nest, lie outside or be of the other
// family.
func subtract(block netip.Prefix, excepts []netip.Prefix) []netip.Prefix {
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
	return append(subtract(low, excepts), subtract(high, excepts)...)
}

// halves splits p, which must be shorter than an address, into its two halves.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	bits := p.Bits() + 1
	raw := p.Addr().AsSlice()
	raw[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	upper, _ := netip.AddrFromSlice(raw)
	return netip.PrefixFrom(p.Addr(), bits), netip.PrefixFrom(upper, bits)
}

// mergePrefixes sorts prefixes, drops what another covers and joins neighbours, so that equal sets of addresses are
// equal lists.
func mergePrefixes(prefixes []netip.Prefix) []netip.Prefix {
	sorted := slices.Clone(prefixes)
	slices.SortFunc(sorted, comparePrefixes)
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

func comparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}
