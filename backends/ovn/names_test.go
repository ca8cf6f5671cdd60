package ovn

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

func TestACLName(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, tc := range []struct{ name, in, want string }{
		{"a short name stays", "shop/web ingress[0]", "shop/web ingress[0]"},
		{"the longest that fits stays", long, long},
		{"a longer one keeps its start", long + "b", long[:52] + "~97aa7c540d"},
		{"no letter is cut in two", "a" + strings.Repeat("ä", 40), "a" + strings.Repeat("ä", 25) + "~2f06a432cf"},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, nb.ACLName(tc.in)) })
	}
}

func FuzzACLName(f *testing.F) {
	f.Add("shop/web ingress[0]", "shop/web ingress[1]")
	f.Add(strings.Repeat("ä", 40), strings.Repeat("ä", 41))
	f.Add(strings.Repeat("x", 52)+"\xff", strings.Repeat("x", 64))
	f.Fuzz(func(t *testing.T, a, b string) {
		one, two := nb.ACLName(a), nb.ACLName(b)
		require.LessOrEqual(t, len(one), nb.MaxACLName)
		if utf8.ValidString(a) {
			require.True(t, utf8.ValidString(one), "%q", one)
		}
		if a != b && (len(a) > nb.MaxACLName) == (len(b) > nb.MaxACLName) {
			require.NotEqual(t, one, two)
		}
	})
}

func FuzzSymbols(f *testing.F) {
	f.Add("a", "db", "b", "db")
	f.Add("a", "b\x00c", "a\x00b", "c")
	f.Add("a-b", "", "a", "-b")
	symbol := regexp.MustCompile(`^[a-zA-Z_.][a-zA-Z_.0-9]*$`)
	f.Fuzz(func(t *testing.T, ownerA, setA, ownerB, setB string) {
		if !ownerPattern.MatchString(ownerA) || !ownerPattern.MatchString(ownerB) {
			return
		}
		seen := map[string]string{}
		for _, who := range [][2]string{{ownerA, setA}, {ownerB, setB}} {
			n, set := nb.NewNamer(who[0]), intent.SetID(who[1])
			for what, s := range map[string]string{
				"group": n.PortGroup(set), "v4": n.AddressSet(set, intent.IPv4), "v6": n.AddressSet(set, intent.IPv6),
			} {
				require.Regexp(t, symbol, s)
				id := who[0] + "\x00" + who[1] + "\x00" + what
				other, used := seen[s]
				require.True(t, !used || other == id, "%q and %q are both %s", other, id, s)
				seen[s] = id
			}
			for _, table := range nb.Tables() {
				u := n.UUID(table, who[1])
				id := who[0] + "\x00" + table + "\x00" + who[1]
				other, used := seen[u]
				require.True(t, !used || other == id, "%q and %q are both %s", other, id, u)
				seen[u] = id
			}
		}
	})
}

// TestNamesStandForEver compares names and UUIDs with those of earlier versions: a change would orphan every row.
func TestNamesStandForEver(t *testing.T) {
	n := nb.NewNamer("netloom")
	require.Equal(t, "nlpg_332bf119e7af", n.PortGroup("isolated/ingress")[:17])
	require.Equal(t, "c9839c4e-9872-5951-9253-a6f2067d0976", n.UUID(nb.TableACL, "id"))
}

func TestOwner(t *testing.T) {
	for owner, ok := range map[string]bool{
		"a": true, "netloom": true, "a-1": true, strings.Repeat("a", 32): true,
		"": false, "-a": false, "a-": false, "A": false, "a_b": false, "a b": false, strings.Repeat("a", 33): false,
	} {
		_, err := New(nil, Options{Owner: owner})
		require.Equal(t, ok, err == nil, "%q: %v", owner, err)
	}
}

func TestParsePortNames(t *testing.T) {
	key := object.Key{Cluster: "east", Namespace: "shop", Name: "web-0"}
	for _, tc := range []struct {
		in    string
		names []string
		key   string
		value string
		err   string
	}{
		{in: "ovn-kubernetes", names: []string{"shop_web-0"}},
		{in: "nodus", names: []string{"shop_web-0"}},
		{in: "kube-ovn", names: []string{"web-0.shop"}},
		{in: "kube-ovn, {cluster}/{namespace}/{pod}", names: []string{"web-0.shop", "east/shop/web-0"}},
		{in: "{namespace}{pod}{pod}-x", names: []string{"shopweb-0web-0-x"}},
		{in: "{pod}", err: "a template with {namespace} and {pod}"},
		{in: "external-ids:pod", names: []string{}, key: "pod", value: "shop/web-0"},
		{in: "external-ids:k={namespace}_{pod}", names: []string{}, key: "k", value: "shop_web-0"},
		{in: "", err: "expected ovn-kubernetes, kube-ovn, nodus, a template with {namespace} and {pod}"},
		{in: "openshift", err: "expected ovn-kubernetes, kube-ovn, nodus, a template with {namespace} and {pod}"},
		{in: "{namespace}", err: "a template with {namespace} and {pod}"},
		{in: "{pod", err: "a template with {namespace} and {pod}"},
		{in: "{pod}_{node}", err: "unknown {node}, expected {namespace}, {pod} or {cluster}"},
		{in: "nodus,", err: "a template with {namespace} and {pod}"},
		{in: "external-ids:", err: "expected external-ids:KEY or"},
		{in: "external-ids:=x{pod}", err: "expected external-ids:KEY or"},
		{in: "external-ids:k=", err: "a template with {namespace} and {pod}"},
	} {
		t.Run(tc.in, func(t *testing.T) {
			n, err := ParsePortNames(tc.in)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				require.ErrorContains(t, err, "port names ")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.names, n.Names(key))
			require.Equal(t, tc.key, n.IndexKey())
			if tc.key != "" {
				require.Equal(t, tc.value, n.value.fill(key))
			}
		})
	}
	t.Run("the preset is one", func(t *testing.T) {
		_, err := ParsePortNames(DefaultPortNames)
		require.NoError(t, err)
	})
}

func FuzzParsePortNames(f *testing.F) {
	for _, s := range []string{"ovn-kubernetes", "{pod}", "external-ids:a={pod}", "a{pod}b{pod}c,{pod}", "{{pod}}", "}{pod}{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParsePortNames(s)
		if err != nil {
			return
		}
		for _, name := range append(n.Names(object.Key{Namespace: "ns", Name: "pod-name"}), "pod-name") {
			require.Contains(t, name, "pod-name")
		}
	})
}

// TestAPortNameIsAllocatedOnce counts the allocations of the names of an endpoint, of which the first plan needs one for each of its groups.
func TestAPortNameIsAllocatedOnce(t *testing.T) {
	names, err := ParsePortNames(DefaultPortNames)
	require.NoError(t, err)
	key := object.Key{Namespace: "a-namespace-of-thirty-two-letters", Name: "a-deployment-7c5ddbdf54-x9k2p"}
	require.InDelta(t, 2, testing.AllocsPerRun(100, func() { names.Names(key) }), 0, "the list and the name")
}
