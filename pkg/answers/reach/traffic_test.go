package reach

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

func tcp(first, last uint16) intent.PortRange {
	return intent.PortRange{Protocol: intent.TCP, First: first, Last: last}
}

func TestTraffic(t *testing.T) {
	web, low := Traffic{Ranges: []intent.PortRange{tcp(80, 80)}}, Traffic{Ranges: []intent.PortRange{tcp(0, 1023)}}
	require.True(t, web.Minus(low).Empty())
	require.Equal(t, "tcp/0-79, tcp/81-1023", low.Minus(web).String())
	require.Equal(t, "everything except tcp/80", All().Minus(web).String())
	require.Equal(t, "everything", All().Minus(web).Union(low).String())
	require.Equal(t, "nothing", Traffic{}.String())
	require.Equal(t, "tcp/80", low.Intersect(web).String())
	require.True(t, All().Equal(Traffic{}.complement()))
	require.True(t, All().complement().Empty())
	require.Equal(t, "tcp", TrafficOf(intent.Ports{Ranges: []intent.PortRange{tcp(0, 65535)}}).String())
	require.True(t, TrafficOf(intent.Ports{Any: true}).Has(intent.ICMP, 0))
	require.False(t, low.Has(intent.ICMP, 0))
	require.Equal(t, "tcp/80, other protocols", Traffic{Ranges: web.Ranges, Other: true}.String())
}

func TestSpare(t *testing.T) {
	none := func(netip.Addr) bool { return false }
	prefixes := func(list ...string) (out []netip.Prefix) {
		for _, p := range list {
			out = append(out, netip.MustParsePrefix(p))
		}
		return out
	}
	for _, tc := range []struct {
		name, prefix, want string
		inside             []netip.Prefix
	}{
		{"its first address", "10.0.0.0/8", "10.0.0.0", nil},
		{"not the unspecified one", "0.0.0.0/0", "0.0.0.1", nil},
		{"after a narrower one at its start", "10.0.0.0/8", "10.1.0.0", prefixes("10.0.0.0/16", "10.0.3.0/24", "10.2.0.0/16")},
		{"filled", "10.0.0.0/31", "invalid IP", prefixes("10.0.0.0/32", "10.0.0.1/32")},
		{"the last address of the family", "255.255.255.254/31", "255.255.255.255", prefixes("255.255.255.254/32")},
		{"filled to the last address", "255.255.255.254/31", "invalid IP", prefixes("255.255.255.254/32", "255.255.255.255/32")},
		{"the next ones are others", "10.0.0.0/32", "10.0.0.0", prefixes("10.0.0.1/32")},
		{"ipv6", "fd00::/8", "fd01::", prefixes("fd00::/16")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _ := spare(netip.MustParsePrefix(tc.prefix), tc.inside, none)
			require.Equal(t, tc.want, got.String())
		})
	}
	got, ok := spare(netip.MustParsePrefix("10.0.0.0/30"), nil, func(a netip.Addr) bool { return a.As4()[3] < 2 })
	require.True(t, ok)
	require.Equal(t, "10.0.0.2", got.String())
}

func TestAreas(t *testing.T) {
	places := func(list ...string) (out []Place) {
		for _, p := range list {
			out = append(out, Place{Standing: netip.MustParsePrefix(p)})
		}
		return out
	}
	all := places("0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "128.0.0.0/1", "::/0")
	require.Equal(t, "[0.0.0.0/5 8.0.0.0/7 11.0.0.0/8 12.0.0.0/6 16.0.0.0/4 32.0.0.0/3 64.0.0.0/2]",
		fmt.Sprint(AreasOf(all).Of(places("0.0.0.0/0"))))
	require.Equal(t, "[0.0.0.0/0 ::/0]", fmt.Sprint(AreasOf(all).Of(all)))
	require.Equal(t, "[10.1.0.0/16 128.0.0.0/1]", fmt.Sprint(AreasOf(all).Of(places("10.1.0.0/16", "128.0.0.0/1"))))
	require.Empty(t, AreasOf(all).Of([]Place{{}}))
}
