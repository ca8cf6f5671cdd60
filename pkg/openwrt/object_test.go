package openwrt

import (
	"encoding/json"
	"reflect"
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
		{"however it is told", RouteRules, Object{"flag": "true"}, Object{"flag": true}},
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
	require.Empty(t, Diff(Remotes, remote, with(func(o Object) { o["shared_ca"] = digest("rubbish") })), "what is blind is there")
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

// TestResourcesSpellTheirKinds holds the tags of every struct against the fields of its kind.
func TestResourcesSpellTheirKinds(t *testing.T) {
	tags := func(r reflect.Type) []string {
		var out []string
		for i := range r.NumField() {
			out = append(out, r.Field(i).Tag.Get("wire"))
		}
		return out
	}
	names := func(fields []field) []string {
		var out []string
		for _, f := range fields {
			out = append(out, f.name)
		}
		return out
	}
	all := []Resource{
		Policy{},
		PolicyRule{},
		Zone{},
		Redirect{},
		FirewallRule{},
		Forwarding{},
		Proposal{},
		Remote{},
		NAT{},
		NetworkRule{},
		Route{},
		RouteRule{},
		Application{},
	}
	require.Len(t, all, len(Kinds()))
	for i, r := range all {
		require.Equal(t, Kinds()[i], r.Kind())
		s, ok := r.Kind().spec()
		require.True(t, ok)
		require.ElementsMatch(t, names(s.fields), tags(reflect.TypeOf(r)), r.Kind().String())
		for _, f := range s.fields {
			switch f.name {
			case "members":
				require.ElementsMatch(t, names(f.of), tags(reflect.TypeFor[Member]()))
			case "connections":
				require.ElementsMatch(t, names(f.of), tags(reflect.TypeFor[Connection]()))
			}
		}
	}
	require.Equal(t, "firewall/zones", Zones.String())
	require.Equal(t, "no kind", Kind(0).String())
}

func TestCheckName(t *testing.T) {
	for _, tc := range []struct {
		name string
		kind Kind
		on   string
		want bool
	}{
		{"a word", Policies, "balance_1", true},
		{"a dash is none of UCI's", Policies, "balance-1", false},
		{"a dash is no harm without a section's name", Zones, "a-b", true},
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
