package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/report"
	"github.com/netloom/netloom/pkg/source"
)

// TestAWorldOfThePastJudgesNothing holds that what was worked out before a snapshot or a round of a loop is worked out anew.
func TestAWorldOfThePastJudgesNothing(t *testing.T) {
	b := newBook()
	key := object.Ref{Kind: report.KindNetworkPolicy, Namespace: "shop", Name: "db"}
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

// TestABookThatNobodyReadsStaysEmpty holds that a standby does not pile up what it has no use for.
func TestABookThatNobodyReadsStaysEmpty(t *testing.T) {
	b := newBook()
	key := object.Ref{Kind: report.KindNetworkPolicy, Namespace: "shop", Name: "db"}
	b.known[key] = told{uid: "u", generation: 1}
	b.policyOf = func(object.Ref) *networkingv1.NetworkPolicy { return nil }
	b.mark(key, news)
	b.resized("set")
	b.settle(key, false, b.sequence())
	b.rest()
	require.Empty(t, b.dirty)
	require.Empty(t, b.open)
	require.False(t, b.anySized())
	b.mark(key, news)
	b.markAll()
	b.resized("set")
	b.take(object.Ref{Kind: source.KindNetworkPolicy, Namespace: "shop", Name: "gone"}, false)
	require.Empty(t, b.dirty)
	require.False(t, b.anySized())
	b.begin()
	e, _ := b.next(b.sequence())
	require.NotNil(t, e)
	require.Equal(t, key, e.key)
	b.take(object.Ref{Kind: source.KindNetworkPolicy, Namespace: "shop", Name: "db"}, false)
	require.Len(t, b.dirty, 1, "somebody reads that it is gone")
}
