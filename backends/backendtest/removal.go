package backendtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// removed removes everything of an owner by a new process that knows no intents: nothing of it is left, everything of another owner and of
// others stays, and a second removal has nothing to do.
func (c *contract) removed(t *testing.T) {
	c.each(t, 3, func(t *testing.T, states []*State) {
		target := c.fresh(t)
		target.AddForeign(t)
		a, b := start(t, target, "a"), start(t, target, "b")
		s, other := states[len(states)-1], states[0].elsewhere()
		a.reconcile(t, s, Advance(intent.NewSnapshot(), s))
		snapB := Advance(intent.NewSnapshot(), other)
		b.reconcile(t, other, snapB)
		theirs := target.DumpOwner(t, "b")
		for range 2 {
			backend := target.Open(t, "a")
			plan, err := c.planRemoval(t, backend)
			require.NoError(t, err)
			require.NoError(t, backend.Apply(t.Context(), plan))
			plan, err = c.planRemoval(t, backend)
			require.NoError(t, err)
			require.Empty(t, opsText(plan), "a second removal finds something")
			require.Empty(t, strings.TrimSpace(target.DumpOwner(t, "a")))
		}
		require.Equal(t, theirs, target.DumpOwner(t, "b"))
		require.True(t, target.ForeignIntact(t), "foreign rows were touched")
		require.Empty(t, target.Dangling(t))
		require.Empty(t, opsText(b.planSince(t, snapB, 0)))

		l := start(t, target, "a")
		l.reconcile(t, s, Advance(intent.NewSnapshot(), s))
		require.Equal(t, c.scratch(t, s), target.DumpOwner(t, "a"), "it can come back")
	})
}

// planRemoval plans to remove everything.
func (c *contract) planRemoval(t *testing.T, b backends.Backend) (*backends.Plan, error) {
	t.Helper()
	if r, ok := b.(backends.Remover); ok {
		return r.PlanRemoval(t.Context())
	}
	return b.Plan(t.Context(), c.see(&State{}).Snapshot(), 0)
}
