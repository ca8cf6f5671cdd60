package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/report"
)

// TestAWorldOfThePastJudgesNothing holds that what was worked out before a snapshot or a round of a loop is worked out anew.
func TestAWorldOfThePastJudgesNothing(t *testing.T) {
	b := newBook()
	key := report.Key{Kind: report.KindNetworkPolicy, Namespace: "shop", Name: "db"}
	b.known[key] = told{uid: "u", generation: 1}
	b.mark(key, calm)
	seen := b.sequence()
	b.Converged("ovn", 2, 0)
	e, moved := b.next(seen)
	require.Nil(t, e)
	require.True(t, moved)
	seen = b.sequence()
	e, moved = b.next(seen)
	require.False(t, moved)
	require.Equal(t, key, e.key)

	b.Failed("ovn", reconcile.PhaseApply, nil) // while it is judged
	b.settle(key, false, seen)
	e, _ = b.next(b.sequence())
	require.NotNil(t, e, "it is judged once more: nobody else will ask for it")
	b.settle(key, false, b.sequence())
	e, moved = b.next(b.sequence())
	require.Nil(t, e)
	require.False(t, moved)
}
