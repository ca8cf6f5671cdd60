package nbtrace

import (
	"net/netip"
	"strconv"
	"strings"
)

// parsePrefix reads an address with an optional length or mask. Host bits are cut off.
func parsePrefix(s string) (netip.Prefix, bool) {
	host, mask, masked := strings.Cut(s, "/")
	a, err := netip.ParseAddr(host)
	if err != nil || a.Is4In6() {
		return netip.Prefix{}, false
	}
	bits := a.BitLen()
	if masked {
		if bits, err = strconv.Atoi(mask); err != nil {
			m, err := netip.ParseAddr(mask)
			if err != nil || m.BitLen() != a.BitLen() {
				return netip.Prefix{}, false
			}
			if bits = leadingOnes(m); bits < 0 {
				return netip.Prefix{}, false
			}
		}
	}
	prefix, err := a.Prefix(bits)
	return prefix, err == nil
}

// leadingOnes is the length of a netmask, -1 when it has ones behind a zero.
func leadingOnes(mask netip.Addr) int {
	n, ended := 0, false
	for _, b := range mask.AsSlice() {
		for bit := byte(0x80); bit != 0; bit >>= 1 {
			switch {
			case b&bit == 0:
				ended = true
			case ended:
				return -1
			default:
				n++
			}
		}
	}
	return n
}
