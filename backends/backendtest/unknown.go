package backendtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

// without returns the successor of from with the content of s, in which load balancers are unavailable.
func without(from *intent.Snapshot, s *State) *intent.Snapshot {
	limited := *s
	limited.LoadBalancers = nil
	b := Advance(from, &limited).Next()
	b.SetUnknown(intent.AreaBalancers)
	return b.Commit()
}

// knowing returns the successor of from with the content of s. Load balancers were unavailable in from.
func knowing(from *intent.Snapshot, s *State) *intent.Snapshot {
	b := Advance(from, s).Next()
	b.SetUnknown(0)
	return b.Commit()
}

// balancedAs returns s with the load balancers and nodes of another state.
func (s *State) balancedAs(o *State) *State {
	mixed := *s
	mixed.LoadBalancers, mixed.Nodes = o.LoadBalancers, o.Nodes
	return &mixed
}

// unknownBalancers restarts a process that may no longer read services. Policies are still synced, and the rows of load
// balancers stay, in plans from read-back and from changes. Once services can be read again, the rows are synced.
func (c *contract) unknownBalancers(t *testing.T) {
	c.also(t, "denying").each(t, 6, func(t *testing.T, states []*State) {
		target := c.fresh(t)
		target.AddForeign(t)
		first, last := states[0], states[len(states)-1]
		l := start(t, target, "a")
		known := first.Snapshot()
		l.reconcile(t, first, known)
		owned := l.planSince(t, known, 0).Owned

		l = start(t, target, "a")
		snap := intent.NewSnapshot()
		for i, s := range states {
			snap = without(snap, s)
			mixed := s.balancedAs(first)
			p := l.reconcile(t, mixed, snap)
			if i == 0 {
				require.Equal(t, owned, p.Owned, "rows that stay count as ours")
			}
			require.Equal(t, c.scratch(t, mixed), target.DumpOwner(t, "a"), "state %d", i)
			require.Empty(t, opsText(l.planSince(t, snap, 0)), "state %d: read-back finds something else", i)
		}
		snap = knowing(snap, last)
		l.reconcile(t, last, snap)
		require.Equal(t, c.scratch(t, last), target.DumpOwner(t, "a"))

		snap = without(snap, first)
		l.reconcile(t, first.balancedAs(last), snap)
		require.Equal(t, c.scratch(t, first.balancedAs(last)), target.DumpOwner(t, "a"), "still unavailable")
		require.True(t, target.ForeignIntact(t))
	})
}
