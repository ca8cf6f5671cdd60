package ovn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
)

func TestSelection(t *testing.T) {
	all := []ovsdb.Datapath{
		{UUID: "1", Name: "node-1"},
		{UUID: "2", Name: "node-2"},
		{UUID: "3", Name: "join"},
		{UUID: "4", Name: "a/b", ExternalIDs: map[string]string{"vpc": "blue"}},
	}
	for _, tc := range []struct {
		spec, network string
		want          []string
	}{
		{"", "", nil},
		{"*", "", []string{"node-1", "node-2", "join", "a/b"}},
		{"*", "blue", nil},
		{"node-?", "", []string{"node-1", "node-2"}},
		{"node-1, join", "", []string{"node-1", "join"}},
		{"node", "", nil},
		{"node.1", "", nil},
		{"!join", "", []string{"node-1", "node-2", "a/b"}},
		{"!*", "", nil},
		{"join,!j*", "", nil},
		{"!j*,join", "", nil},
		{"external_ids:vpc=blue", "", []string{"a/b"}},
		{"external_ids:vpc=b*", "", []string{"a/b"}},
		{"!external_ids:vpc=blue", "", []string{"node-1", "node-2", "join"}},
		{"external_ids:other=blue", "", nil},
		{"*,blue=node-1", "blue", []string{"node-1"}},
		{"*,blue=node-1", "", []string{"node-1", "node-2", "join", "a/b"}},
		{"blue=!join", "blue", []string{"node-1", "node-2", "a/b"}},
		{"!blue=join", "blue", []string{"node-1", "node-2", "a/b"}},
		{"blue=external_ids:vpc=blue", "blue", []string{"a/b"}},
	} {
		t.Run(tc.spec+" in "+tc.network, func(t *testing.T) {
			s, err := ParseSelection(tc.spec)
			require.NoError(t, err)
			var got []string
			for i := range all {
				if s.selects(tc.network, &all[i]) {
					got = append(got, all[i].Name)
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestSelectionsThatAreNone(t *testing.T) {
	for spec, want := range map[string]string{
		"a,":                  `"": expected a name with or without *, external_ids:KEY=VALUE, !PATTERN or NETWORK=PATTERN`,
		"!":                   `"!": expected a name`,
		"=a":                  `"=a": expected the name of a network before the equals sign`,
		"a=b=c":               `"a=b=c": expected a name`,
		"external_ids:a":      `"external_ids:a": expected external_ids:KEY=VALUE`,
		"n=external_ids:=b":   `"n=external_ids:=b": expected external_ids:KEY=VALUE`,
		"good, external_ids:": `"external_ids:": expected external_ids:KEY=VALUE`,
	} {
		_, err := ParseSelection(spec)
		require.ErrorContains(t, err, want)
	}
}

func TestHostsOfANetwork(t *testing.T) {
	top := &topology{
		switches: []ovsdb.Datapath{
			{UUID: "s1", Name: "s1"},
			{UUID: "s2", Name: "s2"},
			{UUID: "x", Name: "ext"},
			{UUID: "u", Name: "uplink", ExternalIDs: map[string]string{"role": "outer"}},
		},
		routers: []ovsdb.Datapath{{UUID: "r1", Name: "blue"}, {UUID: "r2", Name: "gw"}},
		links:   []ovsdb.Link{{Switch: "s2", Router: "r1"}, {Switch: "u", Router: "r1"}, {Switch: "x", Router: "r2"}},
		uplinks: []string{"u"},
	}
	for _, tc := range []struct {
		name, switches, routers, network     string
		wantSwitches, wantRouters, wantDoors []string
		wantBlind                            bool
	}{
		{name: "the default", switches: "*", wantSwitches: []string{"s1", "s2", "x"}, wantDoors: []string{"s1", "s2", "x"}},
		{
			name: "a router brings its switches to the doors", switches: "s1", routers: "gw",
			wantSwitches: []string{"s1"}, wantRouters: []string{"r2"}, wantDoors: []string{"s1", "x"},
		},
		{
			name: "a network that nobody speaks of", switches: "*", network: "blue",
			wantSwitches: []string{"s2"}, wantRouters: []string{"r1"}, wantDoors: []string{"s2", "u"},
		},
		{
			name: "a switch to the outside by its name", switches: "s1,uplink",
			wantSwitches: []string{"s1", "u"}, wantDoors: []string{"s1", "u"},
		},
		{
			name: "and by its external_ids", switches: "external_ids:role=outer", wantSwitches: []string{"u"}, wantDoors: []string{"u"},
		},
		{name: "but not by part of those", switches: "u*,external_ids:role=out*"},
		{
			name: "a network that is spelled out", switches: "*,blue=s1", routers: "blue=!*", network: "blue",
			wantSwitches: []string{"s1"}, wantDoors: []string{"s1"},
		},
		{name: "a network that is not there", switches: "*", network: "red"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, err := LoadBalancing{Switches: tc.switches, Routers: tc.routers}.read("o")
			require.NoError(t, err)
			h := b.hosts(tc.network, top)
			for _, of := range []struct {
				got  []ovsdb.Datapath
				want []string
			}{{h.switches, tc.wantSwitches}, {h.routers, tc.wantRouters}, {h.doors, tc.wantDoors}} {
				require.ElementsMatch(t, of.want, uuidsOf(of.got))
			}
			require.Equal(t, tc.wantBlind, h.blind)
		})
	}
	b, err := LoadBalancing{Routers: "gw"}.read("o")
	require.NoError(t, err)
	require.True(t, b.hosts("", &topology{routers: top.routers}).blind)
}

func TestLoadBalancingIsChecked(t *testing.T) {
	b, err := LoadBalancing{}.read("owner")
	require.NoError(t, err)
	require.Equal(t, "owner", b.group)
	require.Equal(t, "169.254.169.5 fd69::5", b.hairpinOption())
	_, err = LoadBalancing{
		Group: "a b", Switches: "a,", Routers: "=", NodeSwitch: "x", NodeRouter: "y", Hairpin: "fd69::5 169.254.169.5", Affinity: "forever",
	}.read("owner")
	for _, want := range []string{"group", "switches", "routers", "node switch", "node router", "hairpin", "affinity"} {
		require.ErrorContains(t, err, want)
	}
	for _, bad := range []string{"", "1.2.3.4", "1.2.3.4 fd00::1 fd00::2", "1.2.3.4 ::ffff:1.2.3.4", "0.0.0.0 fd00::1", "1.2.3.4 fe80::1%eth0"} {
		_, err := ParseHairpin(bad)
		require.Error(t, err, bad)
	}
}
