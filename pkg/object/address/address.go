// Package address reads addresses and blocks of addresses as they may stand in stored objects. The API server took notations that it no
// longer takes for new ones (StrictIPCIDRValidation, from Kubernetes 1.36 on); whoever reads an object, in a cluster or from a file, reads
// them alike.
package address

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// ParsePrefix parses a CIDR as in stored policies: host bits are masked off, leading zeros in IPv4 and in the length are decimal, and an
// IPv4-mapped block is the IPv4 block it maps.
func ParsePrefix(s string) (netip.Prefix, error) {
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

// Parse parses an address as in stored objects: leading zeros in IPv4 are decimal, an IPv4-mapped address is the
// IPv4 address it maps, and a zone is ignored.
func Parse(s string) (netip.Addr, error) {
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
	if n, err := strconv.ParseUint(bits, 10, 8); err == nil {
		bits = strconv.FormatUint(n, 10)
	}
	return decimalOctets(addr) + "/" + bits
}

// decimalOctets returns an IPv4 address without leading zeros, and anything else as it is.
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
