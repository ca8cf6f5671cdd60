package openwrt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCanonical(t *testing.T) {
	for _, tc := range []struct {
		name     string
		kind     Kind
		in, want Object
	}{
		{"text is trimmed, what is empty goes", Zones, Object{"name": " lan ", "input": "", "masq": nil, "nonsense": "x"}, Object{"name": "lan"}},
		{"numbers and booleans are text", Zones, Object{"name": json.Number("42"), "masq": true, "mtu_fix": 0}, Object{"name": "42", "masq": "1", "mtu_fix": "0"}},
		{"sets are sorted, without doubles", Zones, Object{"network": []any{" b", "a", "", "b"}, "subnet": []string{}}, Object{"network": []string{"a", "b"}}},
		{"a text is a list of words", Zones, Object{"network": "b a"}, Object{"network": []string{"a", "b"}}},
		{"the order of proposals says something", Remotes, Object{"crypto_proposal": []string{"b", "a"}}, Object{"crypto_proposal": []string{"b", "a"}, "enabled": "1"}},
		{
			"members are sorted, without their names", Policies,
			Object{"members": []any{map[string]any{"name": "p_b", "interface": "b", "metric": json.Number("1")}, map[string]any{"interface": "a"}}},
			Object{"members": []Object{{"interface": "a"}, {"interface": "b", "metric": "1"}}},
		},
		{
			"tunnels come first", Remotes,
			Object{"connections": []Object{{"name": "a", "conn_type": "transport", "if_id": "1"}, {"name": "c", "conn_type": "tunnel"}, {"name": "b", "conn_type": "tunnel"}}},
			Object{"enabled": "1", "connections": []Object{{"name": "b", "conn_type": "tunnel"}, {"name": "c", "conn_type": "tunnel"}, {"name": "a", "conn_type": "transport"}}},
		},
		{"what the device adds goes", NetworkRules, Object{"src": "#default", "src_val": "net1"}, Object{"src": "#default"}},
		{"a flag is always there", RouteRules, Object{"name": "r"}, Object{"name": "r", "flag": false}},
		{"in either spelling", RouteRules, Object{"flag": "true"}, Object{"flag": true}},
		{"a key is hidden", Remotes, Object{"pre_shared_key": " k "}, Object{"enabled": "1", "pre_shared_key": Secret("k")}},
		{"no kind has no fields", 0, Object{"name": "x"}, Object{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Canonical(tc.kind, tc.in)
			require.Equal(t, tc.want, got)
			require.Equal(t, got, Canonical(tc.kind, got), "twice is once")
		})
	}
}

func TestDiff(t *testing.T) {
	remote := Object{
		"name": "hub", "pre_shared_key": "k", "shared_ca": "Y2E=", "crypto_proposal": []string{"a", "b"},
		"connections": []Object{{"name": "x", "conn_type": "tunnel", "mode": "start"}, {"name": "y", "conn_type": "tunnel"}},
	}
	with := func(change func(Object)) Object {
		o := Canonical(Remotes, remote)
		change(o)
		return o
	}
	require.Empty(t, Diff(Remotes, remote, with(func(o Object) { o["shared_ca"] = digest("rubbish") })), "a write-only value is there")
	require.Equal(t, []string{"shared_ca"}, Diff(Remotes, remote, with(func(o Object) { delete(o, "shared_ca") })))
	require.Equal(t, []string{"pre_shared_key"}, Diff(Remotes, remote, with(func(o Object) { o["pre_shared_key"] = Secret("l") })))
	require.Equal(t, []string{"enabled", "crypto_proposal"}, Diff(Remotes, remote, with(func(o Object) {
		o["crypto_proposal"] = []string{"b", "a"}
		o["enabled"] = "0"
	})))
	require.Equal(t, []string{"connections[x].mode", "connections[y]", "connections[z]"}, Diff(Remotes, remote, with(func(o Object) {
		o["connections"] = []Object{{"name": "x", "conn_type": "tunnel"}, {"name": "z"}}
	})))
}

// TestEveryKindHasItsRow compares the order of the rows with the kinds of their structs, and lists the fields that are not
// plain text.
func TestEveryKindHasItsRow(t *testing.T) {
	shapes := map[shape]string{text: "text", list: "list", set: "set", objects: "objects", flag: "flag"}
	var special []string
	var spell func(at string, fields []field)
	spell = func(at string, fields []field) {
		for _, f := range fields {
			line := fmt.Sprintf("%s%s %s secret=%v writeonly=%v without=%q key=%q", at, f.name, shapes[f.shape], f.secret, f.writeOnly, f.without, f.key)
			if line != fmt.Sprintf("%s%s text secret=false writeonly=false without=\"\" key=\"\"", at, f.name) {
				special = append(special, line)
			}
			require.Equal(t, f.shape == objects, slices.ContainsFunc(f.of, func(o field) bool { return o.name == f.key }), line)
			spell(at+f.name+".", f.of)
		}
	}
	require.Equal(t, Applications, Kinds()[len(Kinds())-1])
	for i, k := range Kinds() {
		s, ok := k.spec()
		require.True(t, ok)
		require.Equal(t, Kind(i+1), k)
		require.Equal(t, k, s.resource.Kind())
		require.True(t, slices.ContainsFunc(s.fields, func(f field) bool { return f.name == "name" }), k.String())
		spell(k.String()+" ", s.fields)
	}
	require.Equal(t, []string{
		`mwan3/policies members objects secret=false writeonly=false without="" key="interface"`,
		`firewall/zones network set secret=false writeonly=false without="" key=""`,
		`firewall/zones masq_src set secret=false writeonly=false without="" key=""`,
		`firewall/zones masq_dest set secret=false writeonly=false without="" key=""`,
		`firewall/zones subnet set secret=false writeonly=false without="" key=""`,
		`firewall/rules icmp_type set secret=false writeonly=false without="" key=""`,
		`ipsec/remotes enabled text secret=false writeonly=false without="1" key=""`,
		`ipsec/remotes pre_shared_key text secret=true writeonly=false without="" key=""`,
		`ipsec/remotes crypto_proposal list secret=false writeonly=false without="" key=""`,
		`ipsec/remotes local_public_cert text secret=false writeonly=true without="" key=""`,
		`ipsec/remotes local_private_cert text secret=true writeonly=true without="" key=""`,
		`ipsec/remotes shared_ca text secret=false writeonly=true without="" key=""`,
		`ipsec/remotes connections objects secret=false writeonly=false without="" key="name"`,
		`ipsec/remotes connections.crypto_proposal list secret=false writeonly=false without="" key=""`,
		`networkfirewall/rules icmp_type set secret=false writeonly=false without="" key=""`,
		`rule/rules flag flag secret=false writeonly=false without="" key=""`,
	}, special)
	for _, k := range []Kind{-1, 0, Applications + 1} {
		require.Equal(t, "no kind", k.String())
	}
	require.Equal(t, "firewall/zones", Zones.String())
}

func TestCheckName(t *testing.T) {
	for _, tc := range []struct {
		name string
		kind Kind
		on   string
		want bool
	}{
		{"a word", Policies, "balance_1", true},
		{"UCI names have no dashes", Policies, "balance-1", false},
		{"a dash does no harm where the name is not that of a section", Zones, "a-b", true},
		{"eleven characters", Zones, "abcdefghijk", true},
		{"twelve", Zones, "abcdefghijkl", false},
		{"only of zones", FirewallRules, strings.Repeat("a", 200), true},
		{"nothing", Zones, "", false},
		{"a slash", FirewallRules, "a/b", false},
		{"a blank", FirewallRules, "a b", false},
		{"a question", FirewallRules, "a?b", false},
		{"a step back", FirewallRules, "..", false},
		{"no ASCII", FirewallRules, "ä", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := CheckName(tc.kind, tc.on)
			require.Equal(t, tc.want, err == nil, "%v", err)
			if err != nil {
				require.ErrorAs(t, err, new(*NameError))
			}
		})
	}
	require.NoError(t, CheckConnection("a_1"))
	require.Error(t, CheckConnection("a.1"))
}

func FuzzParse(f *testing.F) {
	f.Add(`{"name":"a","network":["x"],"members":[{"interface":"n"}],"connections":[{"name":"c"}],"flag":true}`)
	f.Add(`null`)
	f.Add(`{"local_public_cert":"` + "\xff\x00" + `"}`)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, k := range Kinds() {
			s, _ := k.spec()
			o, err := parse(s, []byte(raw))
			if err != nil || o == nil {
				continue
			}
			require.Equal(t, o, Canonical(k, o), "canonical for good")
			require.Empty(t, Diff(k, o, o))
			sent, err := wire(o)
			require.NoError(t, err)
			again, err := parse(s, sent)
			require.NoError(t, err)
			require.Empty(t, Diff(k, o, again), "what is read can be written")
		}
	})
}
