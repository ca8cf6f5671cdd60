package lb

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

// TestCrowd has the backends of an address come and go beyond the limit.
func TestCrowd(t *testing.T) {
	var all []netip.AddrPort
	var backends []intent.Backend
	for i := range 2000 {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i / 250), byte(1 + i%250)}), 8080)
		all, backends = append(all, at), append(backends, intent.Backend{Addr: at.Addr(), Port: at.Port()})
	}
	f := &intent.Frontend{Addr: netip.MustParseAddr("10.96.0.1"), Port: 80, Protocol: intent.TCP}
	var c crowd
	require.Equal(t, all[:maxBackends], c.admit(f, intent.NewBackends(backends[:maxBackends]...)), "as many as there may be")
	require.Zero(t, c)

	crowded := intent.NewBackends(backends...)
	was := c.admit(f, crowded)
	require.Equal(t, crowd{f, 2000}, c)
	require.Len(t, was, maxBackends)
	require.True(t, slices.IsSortedFunc(was, netip.AddrPort.Compare))
	high := 0
	for _, a := range was {
		if a.Compare(all[1000]) >= 0 {
			high++
		}
	}
	require.InDelta(t, maxBackends/2, high, maxBackends/10, "no half of the addresses is preferred")

	for i := 0; i < len(all); i += 50 {
		now := new(crowd).admit(f, crowded.Without(all[i]))
		require.Len(t, now, maxBackends)
		gone := 0
		for _, a := range was {
			if !slices.Contains(now, a) {
				gone++
			}
		}
		require.LessOrEqual(t, gone, 1)
	}
}
