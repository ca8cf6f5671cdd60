package intent

import (
	"fmt"
	"net/netip"
	"strings"
)

// shownPrefixes is how many prefixes of a list are shown.
const shownPrefixes = 8

// PrefixText formats prefixes for display: as the complement within their family if that is shorter.
func PrefixText(list []netip.Prefix) string {
	var parts []string
	for _, whole := range []netip.Prefix{
		netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0),
	} {
		var own []netip.Prefix
		for _, p := range list {
			if whole.Overlaps(p) {
				own = append(own, p)
			}
		}
		missing := MergePrefixes(SubtractPrefixes(whole, own))
		switch {
		case len(own) == 0:
		case len(missing) > 0 && len(missing) < len(own):
			parts = append(parts, whole.String()+" except "+firstPrefixes(missing))
		default:
			parts = append(parts, firstPrefixes(own))
		}
	}
	return strings.Join(parts, ", ")
}

// firstPrefixes formats the first few of a list.
func firstPrefixes(list []netip.Prefix) string {
	var words []string
	for _, p := range list[:min(len(list), shownPrefixes)] {
		words = append(words, p.String())
	}
	if more := len(list) - shownPrefixes; more > 0 {
		words = append(words, fmt.Sprintf("… (%d more)", more))
	}
	return strings.Join(words, ", ")
}
