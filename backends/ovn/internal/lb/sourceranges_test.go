package lb

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/growth"
)

// TestSourceRangesGrowWithTheFrontends has frontends that each deny others, and frontends that deny the same.
func TestSourceRangesGrowWithTheFrontends(t *testing.T) {
	frontend := func(i int, denied ...netip.Prefix) *intent.Frontend {
		addr := netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)})
		return &intent.Frontend{Addr: addr, Protocol: intent.TCP, Port: 80, Kind: intent.IngressAddress, Denied: denied}
	}
	for _, tc := range []struct {
		name      string
		frontends func(n int) []*intent.Frontend
		denials   int // of 100 frontends
	}{
		{"an address each", func(n int) (list []*intent.Frontend) {
			for i := range n {
				list = append(list, frontend(i, netip.MustParsePrefix("10.0.0.0/8")))
			}
			return list
		}, 100},
		{"one address and one long list", func(n int) (list []*intent.Frontend) {
			denied := make([]netip.Prefix, n)
			for i := range denied {
				denied[i] = netip.PrefixFrom(frontend(i).Addr, 32)
			}
			for range n {
				list = append(list, frontend(0, denied...))
			}
			return list
		}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Len(t, denialsOf(tc.frontends(100)), tc.denials)
			growth.NearlyLinear(t, 3000, func(n int) func() {
				frontends := tc.frontends(n)
				return func() { denialsOf(frontends) }
			})
		})
	}
}
