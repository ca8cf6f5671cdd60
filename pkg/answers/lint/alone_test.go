package lint_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

// TestPoliciesAreJudgedAsIfAlone compares what Run finds in single policies of random clusters with what a Checker of its own finds in each.
func TestPoliciesAreJudgedAsIfAlone(t *testing.T) {
	explainer, err := builtin.NewExplainer(builtin.OVN, "lint", 0)
	require.NoError(t, err)
	costs := lint.Costs{MaxFlows: 1, Explainer: explainer}
	rules := map[string]int{}
	seeds.Each(t, "alone", func(t *testing.T, seed uint64) {
		c := policygen.Generate(seed, policygen.Size{Namespaces: 3, Pods: 10, Policies: 15, Odd: seed%4 == 0})
		var want []lint.Finding
		for _, np := range c.Policies {
			for _, f := range checkerOf(t, c, costs).Policy(np).Findings {
				if f.Rule != lint.NotUnderstood {
					want = append(want, f)
					rules[f.Rule]++
				}
			}
		}
		compare := func(a, b lint.Finding) int { return a.Compare(&b) }
		slices.SortFunc(want, compare)
		want = slices.CompactFunc(want, func(a, b lint.Finding) bool { return compare(a, b) == 0 })
		var got []lint.Finding
		for _, f := range lint.Run(clusterOf(t, c), lint.Options{Costs: costs}).Findings {
			if f.Ref.Kind == object.KindNetworkPolicy && slices.Contains(alone(), f.Rule) {
				got = append(got, f)
			}
		}
		require.Equal(t, want, got, "seed %d", seed)
	})
	t.Log(rules)
	if seeds.All() {
		for _, id := range []string{lint.SelectsNothing, lint.PeerMatchesNothing, lint.UnknownPort, lint.FlowCost} {
			require.NotZero(t, rules[id], id)
		}
	}
}

// alone lists the rules that concern a single policy, without what the translator finds.
func alone() []string {
	return []string{
		lint.SelectsNothing, lint.PeerMatchesNothing, lint.UnknownPods, lint.HostNetwork, lint.UnknownPort, lint.ExceptOutside, lint.EmptyBlock, lint.FlowCost,
	}
}

// checkerOf knows the pods and namespaces of a cluster.
func checkerOf(t *testing.T, c *oracle.Cluster, costs lint.Costs) *lint.Checker {
	t.Helper()
	checker := lint.NewChecker(costs)
	for _, n := range c.Namespaces {
		require.NoError(t, checker.Put(object.KindNamespace, n))
	}
	for _, p := range c.Pods {
		require.NoError(t, checker.Put(object.KindPod, p))
	}
	return checker
}
