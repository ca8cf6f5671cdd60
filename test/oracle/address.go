package oracle

import (
	"net/netip"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// inBlock reports whether a is in the block and in none of its exceptions. An exception narrows its own block only.
func inBlock(b *networkingv1.IPBlock, a netip.Addr) bool {
	cidr, ok := parsePrefix(b.CIDR)
	if !ok || !cidr.Contains(a) {
		return false
	}
	for _, e := range b.Except {
		except, ok := parsePrefix(e)
		if !ok || except.Contains(a) {
			return false
		}
	}
	return true
}

// parsePrefix reads a CIDR as in stored policies: possibly with host bits, and with leading zeros in IPv4 octets, which
// the API server used to accept and to read as decimal.
func parsePrefix(s string) (netip.Prefix, bool) {
	host, length, ok := strings.Cut(s, "/")
	if !ok {
		return netip.Prefix{}, false
	}
	bits, err := strconv.Atoi(length)
	if err != nil {
		return netip.Prefix{}, false
	}
	a, err := netip.ParseAddr(trimZeros(host))
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	if a.Is4In6() && bits >= 96 {
		a, bits = a.Unmap(), bits-96
	}
	p, err := a.Prefix(bits)
	return p, err == nil
}

// parseAddr reads an address; an IPv4 address written as IPv6 is IPv4.
func parseAddr(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(trimZeros(s))
	if err != nil {
		return netip.Addr{}, false
	}
	return a.Unmap().WithZone(""), true
}

// trimZeros drops the leading zeros of the octets of an IPv4 address.
func trimZeros(s string) string {
	if strings.Contains(s, ":") {
		return s
	}
	octets := strings.Split(s, ".")
	for i, o := range octets {
		trimmed := strings.TrimLeft(o, "0")
		if trimmed == "" && o != "" {
			trimmed = "0"
		}
		octets[i] = trimmed
	}
	return strings.Join(octets, ".")
}
