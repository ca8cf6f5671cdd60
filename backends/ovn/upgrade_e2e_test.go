//go:build e2e

package ovn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

// TestAnUpgradeSwitchesToTiers converts the database of a running server to a schema with tiers. Verdicts are those of the intents
// before, between and after, and the rows change their form in one transaction.
func TestAnUpgradeSwitchesToTiers(t *testing.T) {
	passing := 0
	for seed := uint64(1); seed <= 60 && passing < 6; seed++ {
		history := backendtest.History(seed, 8)
		state := history[len(history)-1]
		want := state.Snapshot()
		if intent.Lower(want, intent.MaxRaised) == want {
			continue
		}
		passing++
		target := ovntest.NewReal(t, schema.NB2303())
		nodes := make([]*intent.Node, len(state.Nodes))
		for i := range state.Nodes {
			nodes[i] = &state.Nodes[i]
		}
		target.Prepare(t, state.Endpoints, nodes)
		b := target.Open(t, "netloom")
		flows := backendtest.Probes(state)
		requireVerdicts := func(when string) {
			t.Helper()
			for i, f := range flows {
				if i%5 != 0 {
					continue
				}
				if v := want.Evaluate(f); v.Balanced == nil {
					require.Equal(t, v.Allowed, target.Verdict(t, f).Allowed, "seed %d, %s: %+v", seed, when, f)
				}
			}
		}
		require.NotEmpty(t, bring(t, b, want).Ops)
		requireVerdicts("lowered")
		target.Convert(t, schema.NB2503())
		requireVerdicts("converted")
		plan := bring(t, b, want)
		require.Equal(t, 1, plan.Groups())
		requireVerdicts("with tiers")
		require.Empty(t, bring(t, b, want).Ops)
	}
	require.Greater(t, passing, 3, "too few of the worlds pass anything")
}

// bring brings the target of b to a snapshot, from read-back.
func bring(t *testing.T, b backends.Backend, want *intent.Snapshot) *backends.Plan {
	t.Helper()
	plan, err := b.Plan(t.Context(), want, 0)
	require.NoError(t, err)
	if !plan.Empty() {
		require.NoError(t, b.Apply(t.Context(), plan))
	}
	return plan
}
