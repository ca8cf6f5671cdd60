package world_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
)

// TestBlockDepends has blocks that may be the network of the pods, and others that are the world or single machines.
func TestBlockDepends(t *testing.T) {
	for _, tc := range []struct {
		name, block, excepts string
		want                 bool
	}{
		{"the pods of k3s", "10.42.0.0/16", "", true},
		{"the pods of kubeadm's examples", "192.168.0.0/16", "", true},
		{"a private network", "172.16.0.0/12", "", true},
		{"the pods of some clouds", "100.64.0.0/10", "", true},
		{"the pods of a node", "10.42.3.0/24", "", true},
		{"the world", "0.0.0.0/0", "", false},
		{"the world without private networks", "0.0.0.0/0", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16", false},
		{"the world without one of them", "0.0.0.0/0", "10.0.0.0/8", true},
		{"the world without the pods of k3s", "0.0.0.0/0", "10.42.0.0/16", true},
		{"the world without a metadata server", "0.0.0.0/0", "169.254.169.254/32", false},
		{"the world without a machine", "0.0.0.0/0", "10.0.0.1/32", false},
		{"a machine", "10.0.0.1/32", "", false},
		{"a machine at the made-up address", "10.200.0.1/32", "", true},
		{"a network of others", "203.0.113.0/24", "", false},
		{"unique local addresses", "fd00::/8", "", true},
		{"all of IPv6", "::/0", "", false},
		{"all of IPv6 without unique local addresses", "::/0", "fc00::/7", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			block := netip.MustParsePrefix(tc.block)
			var excepts []netip.Prefix
			for _, text := range strings.Fields(tc.excepts) {
				excepts = append(excepts, netip.MustParsePrefix(text))
			}
			left, _ := intent.SubtractAtMost(block, excepts, 1000)
			if len(excepts) == 0 {
				left = []netip.Prefix{block}
			}
			require.NotEmpty(t, left)
			require.Equal(t, tc.want, world.BlockDepends(&intent.Set{Prefixes: left}, block.Addr().Is4(), netip.MustParseAddr("10.200.0.1")))
		})
	}
	require.False(t, world.BlockDepends(nil, true))
}
