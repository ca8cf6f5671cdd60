package reach_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// cloneOf is a cluster that can be changed without changing c; objects are replaced, never written to.
func cloneOf(c *oracle.Cluster) *oracle.Cluster {
	out := *c
	out.Policies, out.Pods = slices.Clone(c.Policies), slices.Clone(c.Pods)
	out.Namespaces, out.Nodes = slices.Clone(c.Namespaces), slices.Clone(c.Nodes)
	out.ClusterPolicies, out.AdminPolicies = slices.Clone(c.ClusterPolicies), slices.Clone(c.AdminPolicies)
	out.BaselinePolicies, out.Answers = slices.Clone(c.BaselinePolicies), maps.Clone(c.Answers)
	return &out
}

type pair struct{ from, to reach.Place }

type difference struct{ opened, closed string }

// pairByPair is what Impact should find: the traffic of every pair of classes in both states.
func pairByPair(before, after *intent.Snapshot, places []reach.Place) map[pair]difference {
	out := map[pair]difference{}
	classes := reach.Classify(places, before, after)
	for _, from := range classes {
		for _, to := range classes {
			was, is := from.Traffic(0, to), from.Traffic(1, to)
			c := reach.Change{From: []*reach.Class{from}, To: []*reach.Class{to}, Opened: is.Minus(was), Closed: was.Minus(is)}
			if c.Opened.Empty() && c.Closed.Empty() {
				continue
			}
			for a, b := range c.Pairs() {
				out[pair{a, b}] = difference{c.Opened.String(), c.Closed.String()}
			}
		}
	}
	return out
}

// TestImpactComparesEveryPair makes several changes at once, of pods, namespaces and policies of every kind.
func TestImpactComparesEveryPair(t *testing.T) {
	found := 0
	seeds.Each(t, "impact", func(t *testing.T, seed uint64) {
		before := policygen.Generate(seed, policygen.Size{Cluster: int(seed%2) * 8})
		after := cloneOf(before)
		for rng := policygen.NewRand(seed); rng.IntN(4) > 0; {
			policygen.Mutate(after, rng)
		}
		was, is := translate(t, before), translate(t, after)
		places, later := placesOf(before, was, is), placesOf(after, was, is)
		places = slices.DeleteFunc(places, func(p reach.Place) bool { return !slices.Contains(later, p) })
		got := map[pair]difference{}
		for _, c := range reach.Impact(was, is, places, nil) {
			require.False(t, c.Opened.Empty() && c.Closed.Empty(), "seed %d", seed)
			pairs := 0
			for from, to := range c.Pairs() {
				require.NotContains(t, got, pair{from, to}, "seed %d: a pair is in two changes", seed)
				pairs++
				got[pair{from, to}] = difference{c.Opened.String(), c.Closed.String()}
			}
			require.Positive(t, pairs, "seed %d: a change of nothing", seed)
		}
		require.Equal(t, pairByPair(was, is, places), got, "seed %d", seed)
		found += len(got)
	})
	if seeds.All() {
		require.Greater(t, found, 1000, "few changes have an effect: the test shows little")
	}
}

// TestImpactOfOnePolicyIsNearlyLinear adds a policy that isolates a namespace: it concerns every pod of it, with all others.
func TestImpactOfOnePolicyIsNearlyLinear(t *testing.T) {
	growth.NearlyLinear(t, 500, func(n int) func() {
		c := policygen.Workload(n)
		after := translate(t, c)
		fewer := cloneOf(c)
		fewer.Policies = slices.DeleteFunc(fewer.Policies, func(p *networkingv1.NetworkPolicy) bool { return p.Namespace == "ns-00" })
		before := translate(t, fewer)
		places := placesOf(c, before, after)
		return func() { reach.Impact(before, after, places, nil) }
	})
}
