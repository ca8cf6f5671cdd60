package intent

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/growth"
)

func TestAnAddressIsCoveredByItsPrefix(t *testing.T) {
	list := prefixes("10.0.0.0/24", "10.0.2.0/32", "10.0.4.0/22", "2001:db8::/127", "2001:db8:1::/48")
	for _, a := range []string{
		"9.255.255.255", "10.0.0.0", "10.0.0.7", "10.0.0.255", "10.0.1.0", "10.0.2.0", "10.0.2.1", "10.0.7.255", "10.0.8.0",
		"::", "2001:db8::", "2001:db8::1", "2001:db8::2", "2001:db8:1:ffff::", "2001:db8:2::", "ff00::",
	} {
		addr := netip.MustParseAddr(a)
		want := slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(addr) })
		require.Equal(t, want, covers(list, addr), "%s", a)
	}
	require.False(t, covers(nil, netip.MustParseAddr("10.0.0.1")))
}

// TestEachAddressIsLookedUpOnce has as many members as prefixes that narrow them.
func TestEachAddressIsLookedUpOnce(t *testing.T) {
	growth.NearlyLinear(t, 4000, func(n int) func() {
		s := &Set{Within: MergePrefixes(scattered(n, false))}
		return func() {
			for _, p := range s.Within {
				require.True(t, s.Counts(p.Addr()))
			}
		}
	})
}
