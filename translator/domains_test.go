package translator_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
)

// allowlist is a cluster-wide policy that accepts connections to DNS names.
func allowlist(t *testing.T, name string, domains ...v1alpha2.DomainName) *v1alpha2.ClusterNetworkPolicy {
	t.Helper()
	p := &v1alpha2.ClusterNetworkPolicy{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(`
spec:
  tier: Admin
  subject: {namespaces: {}}
  egress: [{action: Accept, to: [{domainNames: []}]}]
`), p))
	p.Name = name
	p.Spec.Egress[0].To[0].DomainNames = domains
	return p
}

func addrs(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

// TestAnAnswerOfDNSChangesASetAndNothingElse follows the set of two policies with the same names.
func TestAnAnswerOfDNSChangesASetAndNothingElse(t *testing.T) {
	tr, was := start(t, newNamespace(nil), newPod("web", "10.0.0.1", "web", nil),
		allowlist(t, "a", "a.example.org", "b.example.org."), allowlist(t, "b", "B.example.org", "a.example.org"))
	require.Equal(t, []string{"a.example.org", "b.example.org"}, tr.Hosts())
	var id intent.SetID
	for p := range was.Policies() {
		require.Len(t, p.Rules, 1)
		id = p.Rules[0].Peer.Set
	}
	for p := range was.Policies() {
		require.Equal(t, id, p.Rules[0].Peer.Set, "they share a set")
	}
	require.Equal(t, []string{"a.example.org", "b.example.org"}, was.Set(id).Hosts)
	require.Empty(t, was.Set(id).Prefixes)
	for i, step := range []struct {
		name    string
		answer  []netip.Addr
		added   string
		removed string
	}{
		{"a.example.org", addrs("203.0.113.7", "2001:db8::7"), "[203.0.113.7/32 2001:db8::7/128]", "[]"},
		{"b.example.org", addrs("203.0.113.7"), "", ""},
		{"a.example.org", addrs("203.0.113.9", "2001:db8::7"), "[203.0.113.9/32]", "[]"},
		{"b.example.org", addrs("203.0.113.8"), "[203.0.113.8/31]", "[203.0.113.7/32 203.0.113.9/32]"},
		{"b.example.org", nil, "[203.0.113.9/32]", "[203.0.113.8/31]"},
		{"a.example.org", nil, "[]", "[203.0.113.9/32 2001:db8::7/128]"},
	} {
		tr.SetHost(step.name, step.answer)
		now := tr.Snapshot()
		if step.added == "" {
			require.Same(t, was, now, "step %d", i)
			continue
		}
		c := only(t, was, now)
		require.Empty(t, c.Policies, "step %d", i)
		require.Empty(t, c.Sets, "step %d", i)
		require.Len(t, c.Members, 1, "step %d", i)
		require.Equal(t, id, c.Members[0].ID)
		require.Equal(t, step.added, fmt.Sprint(c.Members[0].PrefixesAdded), "step %d", i)
		require.Equal(t, step.removed, fmt.Sprint(c.Members[0].PrefixesRemoved), "step %d", i)
		was = now
	}
	require.Contains(t, messages(tr), "a.example.org does not resolve to an address; it matches nothing")

	tr.Remove("ClusterNetworkPolicy", "", "a")
	tr.Remove("ClusterNetworkPolicy", "", "b")
	require.Nil(t, tr.Snapshot().Set(id))
	require.Empty(t, tr.Hosts())
}

// TestLongAnswersOfDNSCountForTheirPolicy exceeds the budget by an answer, and is within it again.
func TestLongAnswersOfDNSCountForTheirPolicy(t *testing.T) {
	tr := translator.New(translator.Options{Budget: budget.Limits{budget.Prefixes: 16}})
	put(t, tr, newNamespace(nil), newPod("web", "10.0.0.1", "web", nil), allowlist(t, "a", "a.example.org"), allowlist(t, "b", "b.example.org"))
	tr.Snapshot()
	many := make([]netip.Addr, 0, 40)
	for i := range 40 {
		many = append(many, netip.AddrFrom4([4]byte{203, 0, 113, byte(2 * i)}))
	}
	rules := func(name string) int {
		return len(tr.Snapshot().Policy(intent.NewPolicyID(intent.Origin{Kind: "ClusterNetworkPolicy", Name: name}, intent.Egress)).Rules)
	}
	tr.SetHost("a.example.org", many[:16])
	tr.SetHost("b.example.org", many[:16])
	require.Equal(t, []int{1, 1}, []int{rules("a"), rules("b")})
	tr.SetHost("a.example.org", many)
	require.Equal(t, []int{0, 1}, []int{rules("a"), rules("b")}, "only the one with the long answer")
	require.Contains(t, messages(tr), "it needs more than 16 prefixes")
	tr.SetHost("a.example.org", slices.Clone(many[:3]))
	require.Equal(t, []int{1, 1}, []int{rules("a"), rules("b")})
	require.NotContains(t, messages(tr), "it needs more than 16 prefixes")
}
