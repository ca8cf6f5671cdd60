package lb

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

// TestAFamilyMayBeDeniedAsAWhole has a Service that admits sources of one family alone.
func TestAFamilyMayBeDeniedAsAWhole(t *testing.T) {
	ports := []intent.PortRange{{Protocol: intent.TCP, First: 80, Last: 80}}
	for _, tc := range []struct {
		name, addr string
		denied     []string
		want       string
	}{
		{"nothing", "192.0.2.1", nil, ""},
		{"sources of the other family", "192.0.2.1", []string{"::/0"}, ""},
		{"all sources", "192.0.2.1", []string{"0.0.0.0/0"}, "ip4.dst == 192.0.2.1 && tcp.dst == 80"},
		{"all sources of both families", "2001:db8::1", []string{"0.0.0.0/0", "::/0"}, "ip6.dst == 2001:db8::1 && tcp.dst == 80"},
		{"some", "192.0.2.1", []string{"10.0.0.0/8", "::/0"}, "ip4.dst == 192.0.2.1 && tcp.dst == 80 && ip4.src == 10.0.0.0/8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := denial{addr: netip.MustParseAddr(tc.addr), protocol: intent.TCP, ports: ports}
			for _, p := range tc.denied {
				d.denied = append(d.denied, netip.MustParsePrefix(p))
			}
			require.Equal(t, tc.want, d.match())
		})
	}
}
