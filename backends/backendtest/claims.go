package backendtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// Keeper is a target that keeps a record of claims. Its backends are Claimers.
type Keeper interface {
	// SaveClaim saves the target's record of the claims of owner, and returns a function that restores it.
	SaveClaim(t testing.TB, owner string) (restore func())
}

// claims checks that backends which can claim their target do what Claimer promises.
func (c *contract) claims(t *testing.T) {
	if _, keeps := c.fresh(t).(Keeper); !keeps {
		_, claims := c.fresh(t).Open(t, "a").(backends.Claimer)
		require.False(t, claims, "a target of claimers has to be a Keeper")
		t.Log("the backend cannot claim its target")
		return
	}
	t.Run("a deposed instance does not write", c.deposed)
	t.Run("an instance that is deposed half way stops writing", c.deposedHalfWay)
	t.Run("a claim that was lost is put back", c.setBack)
	t.Run("a lost claim is not mistaken for another", c.mistaken)
	t.Run("a claim discards what was known of the target", c.claimForgets)
	t.Run("owners have separate claims", c.claimsOfOwners)
	t.Run("a claim does not appear in plans", c.claimUnseen)
	t.Run("a failed claim does not count", c.claimFails)
}

// claim makes l the only instance that may write, and checks the number of the claim.
func (l *loop) claim(t *testing.T, holder string, want uint64) {
	t.Helper()
	claimer, can := l.backend.(backends.Claimer)
	require.True(t, can, "a backend of a Keeper has to be a Claimer")
	generation, err := claimer.Claim(t.Context(), holder)
	require.NoError(t, err)
	require.Equal(t, want, generation)
	l.reached = 0
}

// refused checks that l cannot write and leaves no trace, whatever it tries. It returns false if there is nothing to write.
func (l *loop) refused(t *testing.T, s *State, want *intent.Snapshot) bool {
	t.Helper()
	l.target.Prepare(t, s.Endpoints, s.nodes())
	l.reached = 0
	for range 2 {
		whole := l.target.Dump(t)
		p := l.planSince(t, want, 0)
		if p.Empty() {
			return false
		}
		require.ErrorIs(t, l.backend.Apply(t.Context(), p), backends.ErrDeposed)
		require.Equal(t, whole, l.target.Dump(t), "a deposed backend left a trace")
	}
	return true
}

// deposed lets two backends of one owner take the target from each other, alongside a third that claims nothing.
func (c *contract) deposed(t *testing.T) {
	refusals := 0
	c.each(t, 5, func(t *testing.T, states []*State) {
		target := c.fresh(t)
		target.AddForeign(t)
		a, b := start(t, target, "a"), start(t, target, "a")
		snap := states[0].Snapshot()
		a.reconcile(t, states[0], snap) // unclaimed as yet
		for i, l := range []*loop{a, b, a, b, b} {
			l.claim(t, fmt.Sprintf("holder-%d", i), uint64(i+1))
			other := map[*loop]*loop{a: b, b: a}[l]
			s := states[(i+1)%len(states)]
			snap = Advance(snap, s)
			if i > 0 && other.refused(t, s, snap) {
				refusals++
			}
			l.reconcile(t, s, snap)
			require.Equal(t, c.scratch(t, s), target.DumpOwner(t, "a"))
			require.Empty(t, opsText(other.planSince(t, snap, 0)), "who may not write can read")
		}
		unclaimed := start(t, target, "a")
		snap = Advance(snap, states[1])
		unclaimed.reconcile(t, states[1], snap)
		require.Equal(t, c.scratch(t, states[1]), target.DumpOwner(t, "a"), "a backend that never claimed writes unchecked")
		require.True(t, target.ForeignIntact(t))
	})
	require.Positive(t, refusals)
}

// deposedHalfWay takes the target from a backend between its plan, or a transaction of it, and the next transaction.
func (c *contract) deposedHalfWay(t *testing.T) {
	s := c.history(1, 3)[2]
	target := c.fresh(t)
	a, b := start(t, target, "a"), start(t, target, "a")
	a.claim(t, "first", 1)
	target.Prepare(t, s.Endpoints, s.nodes())
	snap := s.Snapshot()
	parts := Groups(a.plan(t, snap))
	require.NotEmpty(t, parts)
	for i, part := range parts[:len(parts)-1] {
		require.NoError(t, a.backend.Apply(t.Context(), part), "group %d", i)
	}
	b.claim(t, "second", 2)
	whole := target.Dump(t)
	err := a.backend.Apply(t.Context(), parts[len(parts)-1])
	require.ErrorIs(t, err, backends.ErrDeposed)
	require.ErrorContains(t, err, "second", "the error does not name the other instance")
	require.Equal(t, whole, target.Dump(t))
	b.reconcile(t, s, snap)
	require.Equal(t, c.scratch(t, s), target.DumpOwner(t, "a"))
}

// setBack makes the target lose claims. The instance that had claimed it gets it back, and no other does.
func (c *contract) setBack(t *testing.T) {
	states := c.history(1, 4)
	for name, upTo := range map[string]int{"to nothing": 0, "to the claim before": 1, "to the present claim": 2} {
		t.Run(name, func(t *testing.T) {
			target := c.fresh(t)
			keeper, _ := target.(Keeper)
			var restore func()
			a, b := start(t, target, "a"), start(t, target, "a")
			for i, l := range []*loop{nil, a, b} {
				if l != nil {
					l.claim(t, fmt.Sprintf("holder-%d", i), uint64(i))
				}
				if i == upTo {
					restore = keeper.SaveClaim(t, "a")
				}
			}
			snap := states[0].Snapshot()
			b.reconcile(t, states[0], snap)
			restore()
			snap = Advance(snap, states[1])
			b.recover(t, states[1], snap, upTo < 2)
			require.Equal(t, c.scratch(t, states[1]), target.DumpOwner(t, "a"))
			snap = Advance(snap, states[2])
			require.True(t, a.refused(t, states[2], snap))
			a.claim(t, "again", 3)
			a.reconcile(t, states[2], snap)
			require.True(t, b.refused(t, states[3], Advance(snap, states[3])))
		})
	}
}

// recover brings the target to want by a write that fails with an error worth retrying, and one that succeeds.
func (l *loop) recover(t *testing.T, s *State, want *intent.Snapshot, fails bool) {
	t.Helper()
	l.target.Prepare(t, s.Endpoints, s.nodes())
	if fails {
		whole := l.target.Dump(t)
		p := l.planSince(t, want, 0)
		require.NotEmpty(t, p.Ops)
		err := l.backend.Apply(t.Context(), p)
		require.Error(t, err)
		require.NotErrorIs(t, err, backends.ErrDeposed)
		require.Equal(t, whole, l.target.Dump(t))
		l.reached = 0
	}
	l.reconcile(t, s, want)
}

// mistaken lets others claim a target that has lost its record of two claims.
func (c *contract) mistaken(t *testing.T) {
	states := c.history(1, 5)
	target := c.fresh(t)
	keeper, _ := target.(Keeper)
	restore := keeper.SaveClaim(t, "a")
	first, second, third := start(t, target, "a"), start(t, target, "a"), start(t, target, "a")
	first.claim(t, "first", 1)
	second.claim(t, "second", 2)
	snap := states[0].Snapshot()
	second.reconcile(t, states[0], snap)
	restore()
	third.claim(t, "third", 1)
	snap = Advance(snap, states[1])
	third.reconcile(t, states[1], snap)
	snap = Advance(snap, states[2])
	require.True(t, first.refused(t, states[2], snap)) // it once had a claim of that number
	second.recover(t, states[2], snap, true)
	snap = Advance(snap, states[3])
	require.True(t, third.refused(t, states[3], snap))
	restore()
	second.claim(t, "second", 3)
	second.reconcile(t, states[3], snap)
	third.claim(t, "third", 4)
	snap = Advance(snap, states[4])
	third.reconcile(t, states[4], snap)
	require.Equal(t, c.scratch(t, states[4]), target.DumpOwner(t, "a"))
}

// claimForgets lets a backend claim the target again after another one has written to it, and plan from its earlier state.
func (c *contract) claimForgets(t *testing.T) {
	states := c.history(3, 3)
	target := c.fresh(t)
	a, b := start(t, target, "a"), start(t, target, "a")
	a.claim(t, "one", 1)
	first := states[0].Snapshot()
	a.reconcile(t, states[0], first)
	reached := a.reached
	b.claim(t, "two", 2)
	b.reconcile(t, states[1], Advance(first, states[1]))
	a.claim(t, "one", 3)
	a.reached = reached
	a.reconcile(t, states[2], Advance(first, states[2]))
	require.Equal(t, c.scratch(t, states[2]), target.DumpOwner(t, "a"))
}

// claimsOfOwners lets several owners claim one target.
func (c *contract) claimsOfOwners(t *testing.T) {
	states := c.history(2, 2)
	target := c.fresh(t)
	a, b := start(t, target, "a"), start(t, target, "b")
	a.claim(t, "one", 1)
	b.claim(t, "two", 1)
	snap := states[0].Snapshot()
	a.reconcile(t, states[0], snap)
	b.reconcile(t, &State{}, (&State{}).Snapshot())
	a.reconcile(t, states[1], Advance(snap, states[1]))
	require.Equal(t, c.scratch(t, states[1]), target.DumpOwner(t, "a"))
}

// claimUnseen checks that a claim does not show in the plans of any backend.
func (c *contract) claimUnseen(t *testing.T) {
	s := c.see(&State{})
	target := c.fresh(t)
	a := start(t, target, "a")
	snap := s.Snapshot()
	a.reconcile(t, s, snap)
	whole := target.Dump(t)
	a.claim(t, "one", 1)
	require.Equal(t, whole, target.Dump(t))
	for _, l := range []*loop{a, start(t, target, "a"), start(t, target, "b")} {
		p := l.planSince(t, snap, 0)
		for i := range p.Ops {
			require.NotEqual(t, backends.Delete, p.Ops[i].Verb, "%v", opsText(p))
		}
	}
	require.Empty(t, opsText(a.planSince(t, snap, 0)))
}

// claimFails checks that a failed claim takes away the right to write until another one succeeds.
func (c *contract) claimFails(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	s := c.history(1, 2)[1]
	target := c.fresh(t)
	a, snap := start(t, target, "a"), s.Snapshot()
	a.claim(t, "one", 1)
	claimer, _ := a.backend.(backends.Claimer)
	_, err := claimer.Claim(over, "one")
	require.ErrorIs(t, err, context.Canceled)
	target.Prepare(t, s.Endpoints, s.nodes())
	whole := target.Dump(t)
	require.Error(t, a.backend.Apply(t.Context(), a.planSince(t, snap, 0)))
	require.Equal(t, whole, target.Dump(t))
	a.claim(t, "one", 2)
	a.reconcile(t, s, snap)
	require.Equal(t, c.scratch(t, s), target.DumpOwner(t, "a"))
}
