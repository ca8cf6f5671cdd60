package ovn

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoadBalancingIsChecked(t *testing.T) {
	s, err := LoadBalancing{}.parse("owner")
	require.NoError(t, err)
	require.Equal(t, "owner", s.Group)
	require.Equal(t, [2]netip.Addr{netip.MustParseAddr("169.254.169.5"), netip.MustParseAddr("fd69::5")}, s.Hairpin)
	_, err = LoadBalancing{
		Group: "a b", Switches: "a,", Routers: "=", NodeSwitch: "x", NodeRouter: "y", Hairpin: "fd69::5 169.254.169.5", Affinity: "forever",
	}.parse("owner")
	for _, want := range []string{"group", "switches", "routers", "node switch", "node router", "hairpin", "affinity"} {
		require.ErrorContains(t, err, want)
	}
	for _, bad := range []string{"", "1.2.3.4", "1.2.3.4 fd00::1 fd00::2", "1.2.3.4 ::ffff:1.2.3.4", "0.0.0.0 fd00::1", "1.2.3.4 fe80::1%eth0"} {
		_, err := parseHairpin(bad)
		require.Error(t, err, bad)
	}
}
