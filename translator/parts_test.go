package translator_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// from is a policy that lets pods of some apps reach an app.
func from(to string, apps ...string) string {
	var peers []string
	for _, app := range apps {
		peers = append(peers, fmt.Sprintf("{podSelector: {matchLabels: {app: %s}}}", app))
	}
	return fmt.Sprintf("{podSelector: {matchLabels: {app: %s}}, ingress: [{from: [%s]}]}", to, strings.Join(peers, ", "))
}

// partsIn describes the parts of the only rule of a policy: the titles of the peers, with a star if they are shared.
func partsIn(t *testing.T, s *intent.Snapshot, name string) []string {
	t.Helper()
	p := s.Policy(intent.PolicyID("NetworkPolicy/shop/" + name + "/ingress"))
	require.NotNil(t, p, name)
	var out []string
	for _, part := range p.Rules[0].Parts {
		title := "any"
		if part.Peer.Kind == intent.PeerSet {
			title = strings.TrimSuffix(strings.TrimPrefix(s.Set(part.Peer.Set).Title, "pods app="), " in namespace shop")
		}
		if part.Shared != "" {
			title += "*"
		}
		out = append(out, title)
	}
	slices.Sort(out)
	return out
}

// TestRulesHavePartsInCommon gives policies rules one after the other.
func TestRulesHavePartsInCommon(t *testing.T) {
	tr, _ := start(t)
	for i, step := range []struct {
		policy, spec string // an empty spec removes it
		want         map[string][]string
	}{
		{"a", from("a", "web"), map[string][]string{"a": nil}},
		{"b", from("b", "web"), map[string][]string{"a": {"web*"}, "b": {"web*"}}},
		{"b-again", from("b", "web"), map[string][]string{"a": {"web*"}, "b-again": {"web*"}}},
		{"a", "", map[string][]string{"b": nil, "b-again": nil}}, // equal policies share what they have as it is
		{"b-again", "", map[string][]string{"b": nil}},
		{"c", from("c", "web", "ops"), map[string][]string{"b": {"web*"}, "c": {"ops", "web*"}}},
		{"d", from("d", "ops", "lab"), map[string][]string{"c": {"ops", "web*"}, "d": nil}}, // ops is as much as one rule, not more
		{"e", from("e", "ops", "lab"), map[string][]string{"c": {"ops", "web*"}, "d": {"lab in namespace shop, pods app=ops*"}, "e": {"lab in namespace shop, pods app=ops*"}}},
		{"c", "", map[string][]string{"b": nil, "d": {"lab in namespace shop, pods app=ops*"}}},
		{"d", "", map[string][]string{"e": nil}},
		{"b", "", nil},
		{"f", from("f", "web", "ops"), map[string][]string{"f": nil}},
		{"g", from("g", "web", "lab"), map[string][]string{"f": nil, "g": nil}},
		{"f-again", from("f", "web", "ops"), map[string][]string{"f": nil, "g": nil}}, // counts no more than f alone
		{"any", "{podSelector: {matchLabels: {app: a}}, ingress: [{}]}", map[string][]string{"any": nil}},
		{"any-2", "{podSelector: {matchLabels: {app: b}}, ingress: [{}]}", map[string][]string{"any": {"any*"}, "any-2": {"any*"}}},
	} {
		if step.spec == "" {
			tr.Remove(object.KindNetworkPolicy, "shop", step.policy)
		} else {
			put(t, tr, newPolicy(t, step.policy, step.spec))
		}
		s := tr.Snapshot()
		for name, want := range step.want {
			require.Equal(t, want, partsIn(t, s, name), "step %d, policy %s", i, name)
		}
		requireSound(t, s)
	}
}

// TestEqualListsAreSharedWhole gives more policies the same list than it has peers.
func TestEqualListsAreSharedWhole(t *testing.T) {
	apps := []string{"a", "b", "c", "d"}
	tr, _ := start(t)
	for i := range 12 {
		put(t, tr, newPolicy(t, fmt.Sprint("p", i), from(fmt.Sprint("to", i), apps...)))
	}
	require.Len(t, partsIn(t, tr.Snapshot(), "p0"), 1)
	put(t, tr, newPolicy(t, "other", from("x", "a", "b")))
	s := tr.Snapshot()
	require.Len(t, partsIn(t, s, "p0"), 1, "a and b weigh three quarters of a rule")
	require.Empty(t, partsIn(t, s, "other"))
	put(t, tr, newPolicy(t, "more", from("x", "a")))
	s = tr.Snapshot()
	require.Len(t, partsIn(t, s, "p0"), 1, "no other policy decides how a list is divided that is shared whole")
	require.Equal(t, []string{"a*"}, partsIn(t, s, "more"), "a weighs one and a half rules of those that are divided")
	requireSound(t, tr.Snapshot())
}

// TestLoggedRulesHaveNoParts has two policies with an equal rule, of which one logs what it allows.
func TestLoggedRulesHaveNoParts(t *testing.T) {
	logged := newPolicy(t, "b", from("b", "web"))
	logged.Annotations = map[string]string{"k8s.ovn.org/acl-logging": `{"allow": "info"}`}
	tr, s := start(t, newPolicy(t, "a", from("a", "web")), logged)
	require.Equal(t, intent.SeverityInfo, s.Policy("NetworkPolicy/shop/b/ingress").Log.Allow)
	require.Empty(t, partsIn(t, s, "a"))
	require.Empty(t, partsIn(t, s, "b"))
	put(t, tr, newPolicy(t, "b", from("b", "web")))
	require.Equal(t, []string{"web*"}, partsIn(t, tr.Snapshot(), "a"))
}

// requireSound checks what parts claim: together they are the rule's peer, and the shared set has the subjects of exactly those who have
// the part, which are at least two.
func requireSound(t *testing.T, s *intent.Snapshot) {
	t.Helper()
	for id, sharers := range requireTrue(t, s) {
		require.GreaterOrEqual(t, sharers, 2, "%s is not shared", id)
	}
}

// requireTrue checks the same but for how many have a part, and returns that.
func requireTrue(t *testing.T, s *intent.Snapshot) map[intent.SetID]int {
	t.Helper()
	subjects, sharers := map[intent.SetID]map[object.Key]bool{}, map[intent.SetID]map[intent.PolicyID]bool{}
	for p := range s.Policies() {
		for i := range p.Rules {
			r := &p.Rules[i]
			if len(r.Parts) == 0 {
				continue
			}
			require.Equal(t, contentOf(s, []intent.Part{{Peer: r.Peer}}), contentOf(s, r.Parts), "%s %s", p.ID, r.Path)
			for _, part := range r.Parts {
				if part.Shared == "" {
					continue
				}
				require.Equal(t, intent.SharedSet(p.Direction, part.Peer, r.Ports), part.Shared)
				if subjects[part.Shared] == nil {
					subjects[part.Shared], sharers[part.Shared] = map[object.Key]bool{}, map[intent.PolicyID]bool{}
				}
				sharers[part.Shared][p.ID] = true
				for e := range s.Set(p.Subject).Members.All() {
					subjects[part.Shared][e.Key] = true
				}
			}
		}
	}
	for set := range s.Sets() {
		if strings.HasPrefix(string(set.ID), "shared/") {
			require.Contains(t, subjects, set.ID, "nobody needs it")
		}
	}
	counts := map[intent.SetID]int{}
	for id, want := range subjects {
		counts[id] = len(sharers[id])
		got := map[object.Key]bool{}
		for e := range s.Set(id).Members.All() {
			got[e.Key] = true
		}
		require.Equal(t, want, got, id)
	}
	return counts
}

// contentOf lists the addresses and prefixes of peers; nil is any.
func contentOf(s *intent.Snapshot, parts []intent.Part) []string {
	var addrs, prefixes []string
	var all []netip.Prefix
	for _, part := range parts {
		if part.Peer.Kind == intent.PeerAny {
			return nil
		}
		set := s.Set(part.Peer.Set)
		for _, a := range set.Addrs() {
			addrs = append(addrs, a.String())
		}
		all = append(all, set.Prefixes...)
	}
	for _, p := range intent.MergePrefixes(all) {
		prefixes = append(prefixes, p.String())
	}
	slices.Sort(addrs)
	return append(slices.Compact(addrs), prefixes...)
}

// TestPartsDoNotDependOnHistory adds and removes the policies of random clusters, and compares the parts with those of a translator that
// gets all of them at once.
func TestPartsDoNotDependOnHistory(t *testing.T) {
	shared := 0
	seeds.Each(t, "parts", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(1, seed-1))
		c := policygen.Generate(seed, policygen.Size{Policies: 24, Namespaces: 2})
		var rest []any
		for _, ns := range c.Namespaces {
			rest = append(rest, ns)
		}
		for _, p := range c.Pods {
			rest = append(rest, p)
		}
		tr, _ := start(t, rest...)
		there := map[int]bool{}
		for range 12 {
			for range 1 + rng.IntN(6) {
				n := rng.IntN(len(c.Policies))
				if there[n] = !there[n]; there[n] {
					put(t, tr, c.Policies[n])
				} else {
					tr.Remove(object.KindNetworkPolicy, c.Policies[n].Namespace, c.Policies[n].Name)
				}
			}
			s := tr.Snapshot()
			requireSound(t, s)
			fresh := translator.New(translator.Options{})
			put(t, fresh, rest...)
			for n, p := range c.Policies {
				if there[n] {
					put(t, fresh, p)
				}
			}
			for want := range fresh.Snapshot().Policies() {
				got := s.Policy(want.ID)
				require.NotNil(t, got, want.ID)
				require.Equal(t, want.Rules, got.Rules, want.ID)
				for j := range got.Rules {
					shared += len(got.Rules[j].Parts)
				}
			}
		}
	})
	if seeds.All() {
		require.Greater(t, shared, 100, "too few rules have parts")
	}
}

// longLists is policies with lists of up to 20 peers, which take turns, and equal ones.
func longLists(t *testing.T, rng *rand.Rand, seed uint64) []*networkingv1.NetworkPolicy {
	t.Helper()
	var all []*networkingv1.NetworkPolicy
	for i := range 120 {
		length := []int{1, 2, 5, 6, 8, 9, 20}[rng.IntN(7)]
		var apps []string
		for _, j := range rng.Perm(length + 6)[:length] {
			apps = append(apps, fmt.Sprint("app", j))
		}
		to := fmt.Sprint("to", rng.IntN(30))
		p := newPolicy(t, fmt.Sprint("p", i), from(to, apps...))
		p.UID = types.UID(fmt.Sprint(seed, i))
		all = append(all, p)
		for j := range rng.IntN(3) * 6 * rng.IntN(2) {
			again := newPolicy(t, fmt.Sprint("p", i, "-", j), from(to, apps...))
			all = append(all, again)
		}
	}
	return all
}

// TestLongListsDoNotDependOnHistory does the same with lists of up to 20 peers, which take turns, and with many equal policies.
func TestLongListsDoNotDependOnHistory(t *testing.T) {
	shared, divided := 0, 0
	seeds.Each(t, "longlists", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(2, seed-1))
		all := longLists(t, rng, seed)
		tr, _ := start(t)
		there := map[int]bool{}
		for range 12 {
			for range 1 + rng.IntN(len(all)/2) {
				n := rng.IntN(len(all))
				if there[n] = !there[n]; there[n] {
					put(t, tr, all[n])
				} else {
					tr.Remove(object.KindNetworkPolicy, all[n].Namespace, all[n].Name)
				}
			}
			s := tr.Snapshot()
			fresh, _ := start(t)
			for n, p := range all {
				if there[n] {
					put(t, fresh, p)
				}
			}
			for want := range fresh.Snapshot().Policies() {
				got := s.Policy(want.ID)
				require.NotNil(t, got, want.ID)
				require.Equal(t, want.Rules, got.Rules, want.ID)
				shared += min(1, len(got.Rules[0].Parts))
				divided += max(0, len(got.Rules[0].Parts)-1)
			}
		}
		for _, p := range all {
			tr.Remove(object.KindNetworkPolicy, p.Namespace, p.Name)
		}
		tr.Snapshot()
		require.True(t, translator.Empty(tr), "something is left")
	})
	if seeds.All() {
		require.Greater(t, shared, 1000, "too few rules are shared")
		require.Greater(t, divided, 300, "too few rules are divided")
	}
}

// TestAPolicyCostsWhatItHas lets a policy come and go at the point from which on a peer is worth sharing that n others with n peers have too.
func TestAPolicyCostsWhatItHas(t *testing.T) {
	growth.NearlyLinear(t, 24, func(n int) func() {
		spec := func(i int) string {
			apps := []string{"common"}
			for j := range n - 1 {
				apps = append(apps, fmt.Sprint("own-", i, "-", j))
			}
			return from(fmt.Sprint("to", i), apps...)
		}
		tr, _ := start(t)
		for i := range n {
			put(t, tr, newPolicy(t, fmt.Sprint("p", i), spec(i)))
		}
		tr.Snapshot()
		var more []any
		for i := range 8 {
			more = append(more, newPolicy(t, fmt.Sprint("q", i), spec(n+i)))
		}
		return func() {
			for _, p := range more {
				put(t, tr, p)
				tr.Snapshot()
			}
			for _, p := range more {
				remove(tr, p)
				tr.Snapshot()
			}
		}
	})
}

// TestSharingGrowsWithThePolicies gives many policies a rule in common, and then lets two come and go.
func TestSharingGrowsWithThePolicies(t *testing.T) {
	growth.NearlyLinear(t, 600, func(n int) func() {
		tr, _ := start(t)
		return func() {
			for i := range n {
				put(t, tr, newPolicy(t, fmt.Sprint("p", i), from(fmt.Sprint("app", i), "web", "ops")))
			}
			tr.Snapshot()
			for i := range n {
				tr.Remove(object.KindNetworkPolicy, "shop", fmt.Sprint("p", i))
			}
			tr.Snapshot()
		}
	})
}
