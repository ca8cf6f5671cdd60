package lb

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
	top := &Topology{
		Switches: []ovsdb.Datapath{
			{UUID: "s1", Name: "s1"},
			{UUID: "s2", Name: "s2"},
			{UUID: "x", Name: "ext"},
			{UUID: "u", Name: "uplink", ExternalIDs: map[string]string{"role": "outer"}},
		},
		Routers: []ovsdb.Datapath{{UUID: "r1", Name: "blue"}, {UUID: "r2", Name: "gw"}},
		Links:   []ovsdb.Link{{Switch: "s2", Router: "r1"}, {Switch: "u", Router: "r1"}, {Switch: "x", Router: "r2"}},
		Uplinks: []string{"u"},
	}
	for _, tc := range []struct {
		name, switches, routers, network       string
		wantSwitches, wantRouters, wantEntries []string
		wantUnguarded                          bool
	}{
		{name: "the default", switches: "*", wantSwitches: []string{"s1", "s2", "x"}, wantEntries: []string{"s1", "s2", "x"}},
		{
			name: "a router's switches are entries", switches: "s1", routers: "gw",
			wantSwitches: []string{"s1"}, wantRouters: []string{"r2"}, wantEntries: []string{"s1", "x"},
		},
		{
			name: "a network that no setting names", switches: "*", network: "blue",
			wantSwitches: []string{"s2"}, wantRouters: []string{"r1"}, wantEntries: []string{"s2", "u"},
		},
		{
			name: "a switch to the outside by its name", switches: "s1,uplink",
			wantSwitches: []string{"s1", "u"}, wantEntries: []string{"s1", "u"},
		},
		{
			name: "and by its external_ids", switches: "external_ids:role=outer", wantSwitches: []string{"u"}, wantEntries: []string{"u"},
		},
		{name: "but not by part of those", switches: "u*,external_ids:role=out*"},
		{
			name: "a network that is spelled out", switches: "*,blue=s1", routers: "blue=!*", network: "blue",
			wantSwitches: []string{"s1"}, wantEntries: []string{"s1"},
		},
		{name: "a network that is not there", switches: "*", network: "red"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := settingsOf(t, tc.switches, tc.routers).hosts(tc.network, top)
			for _, of := range []struct {
				got  []ovsdb.Datapath
				want []string
			}{{h.switches, tc.wantSwitches}, {h.routers, tc.wantRouters}, {h.entries, tc.wantEntries}} {
				var got []string
				for _, d := range of.got {
					got = append(got, d.UUID)
				}
				require.ElementsMatch(t, of.want, got)
			}
			require.Equal(t, tc.wantUnguarded, h.unguarded)
		})
	}
	require.True(t, settingsOf(t, "*", "gw").hosts("", &Topology{Routers: top.Routers}).unguarded)
}

func settingsOf(t *testing.T, switches, routers string) *Settings {
	t.Helper()
	var s Settings
	var err error
	s.Switches, err = ParseSelection(switches)
	require.NoError(t, err)
	s.Routers, err = ParseSelection(routers)
	require.NoError(t, err)
	return &s
}

func TestNetworksAreNames(t *testing.T) {
	for _, good := range []string{"", " ", "*", "blue", "blue,red-1", "a_b, c.d"} {
		_, err := ParseNetworks(good)
		require.NoError(t, err, good)
	}
	for _, bad := range []string{",", "blue,", "blue,*", "a b", "!blue", "blue=red", "r?d"} {
		_, err := ParseNetworks(bad)
		require.ErrorContains(t, err, "expected the name of a logical network", bad)
	}
}
