package backendtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/seeds"
)

func (c *contract) restart(t *testing.T) {
	c.each(t, 6, func(t *testing.T, states []*State) {
		target := c.fresh(t)
		target.AddForeign(t)
		other := states[len(states)-1].elsewhere()
		start(t, target, "b").reconcile(t, other, other.Snapshot())
		theirs := target.DumpOwner(t, "b")
		for _, s := range states {
			l := start(t, target, "a") // a new process: its revisions start over
			p := l.reconcile(t, s, s.Snapshot())
			require.True(t, p.Full)
			require.Equal(t, c.scratch(t, s), target.DumpOwner(t, "a"))
			require.Equal(t, theirs, target.DumpOwner(t, "b"))
			require.True(t, target.ForeignIntact(t), "foreign rows were touched")
		}
	})
}

func (c *contract) quietRestart(t *testing.T) {
	c.each(t, 4, func(t *testing.T, states []*State) {
		target := c.fresh(t)
		s := states[len(states)-1]
		start(t, target, "a").reconcile(t, s, s.Snapshot())
		writes, dump := target.Writes(t), target.Dump(t)
		p := start(t, target, "a").reconcile(t, s, Advance(Advance(intent.NewSnapshot(), states[0]), s))
		require.Empty(t, opsText(p))
		if c.cnf == nil || target.DumpOwner(t, "a") != "" { // a CNF has nothing if no endpoint has an address that it sees
			require.Positive(t, p.Owned)
		}
		require.Equal(t, writes, target.Writes(t))
		require.Equal(t, dump, target.Dump(t))
	})
}

// owners alternates between two owners that want different things and one that leaves.
func (c *contract) owners(t *testing.T) {
	c.each(t, 5, func(t *testing.T, states []*State) {
		target := c.fresh(t)
		target.AddForeign(t)
		a, b := start(t, target, "a"), start(t, target, "b")
		snapA, snapB := intent.NewSnapshot(), intent.NewSnapshot()
		for i, s := range states {
			other := states[len(states)-1-i].elsewhere()
			snapA, snapB = Advance(snapA, s), Advance(snapB, other)
			a.reconcile(t, s, snapA)
			b.reconcile(t, other, snapB)
			require.Equal(t, c.scratch(t, s), target.DumpOwner(t, "a"))
			for _, l := range []*loop{a, b} {
				want := snapA
				if l == b {
					want = snapB
				}
				require.Empty(t, opsText(l.planSince(t, want, 0)), "an owner sees another's rows as its own")
			}
		}
		theirs := target.DumpOwner(t, "b")
		if c.cnf == nil {
			require.NotEmpty(t, theirs)
		}
		a.reconcile(t, c.see(&State{}), Advance(snapA, c.see(&State{})))
		require.Equal(t, theirs, target.DumpOwner(t, "b"))
		require.True(t, target.ForeignIntact(t), "foreign rows were touched")
	})
}

func (c *contract) drift(t *testing.T) {
	kinds, found := 0, make(map[string]bool)
	c.each(t, 6, func(t *testing.T, states []*State) {
		target := c.fresh(t)
		target.AddForeign(t)
		s := states[len(states)-1]
		l, snap := start(t, target, "a"), s.Snapshot()
		l.reconcile(t, s, snap)
		whole := target.Dump(t)
		for n := 0; ; n++ {
			harm, more := target.Damage(t, "a", n)
			if !more {
				kinds = n
				break
			}
			if len(harm.Names) == 0 {
				require.Equal(t, whole, target.Dump(t), "%s: harm that names nothing", harm.What)
				continue
			}
			found[harm.What] = true
			require.NotEqual(t, whole, target.Dump(t), "%s: no harm done", harm.What)
			p := l.planSince(t, snap, 0)
			require.NotEmpty(t, p.Ops, "%s: not seen", harm.What)
			for i := range p.Ops {
				require.Contains(t, harm.Names, p.Ops[i].Name, "%s: the repair touches what was whole", harm.What)
			}
			require.NoError(t, l.backend.Apply(t.Context(), p))
			require.Equal(t, whole, target.Dump(t), "%s: not repaired", harm.What)
			require.True(t, target.ForeignIntact(t), "%s: foreign rows were touched", harm.What)
			if !harm.Unwatched {
				l.repair(t, target, n)
			}
			require.Equal(t, whole, target.Dump(t), "%s: not repaired by itself", harm.What)
			require.Empty(t, opsText(l.planSince(t, snap, 0)), "%s: not repaired by itself", harm.What)
		}
		judge(t, target, snap, l.skips, c.probes(s))
	})
	require.Positive(t, kinds, "the target has no kinds of damage")
	if !seeds.Given() { // another history may end with nothing to damage
		require.Greater(t, len(found), kinds*3/4, "of %d kinds of damage only these changed something: %v", kinds, found)
	}
}

// repair does the n-th harm again and repairs only that, if the backend notices it.
func (l *loop) repair(t *testing.T, target Target, n int) {
	w, ok := l.backend.(backends.Watcher)
	if !ok {
		return
	}
	var harm Damage
	quiet := func() bool { // what was repaired from a read-back may be reported only now
		if !changed(t, w) {
			require.Nil(t, w.Foreign())
			return true
		}
		p, err := w.Repair(t.Context())
		require.NoError(t, err)
		require.False(t, p.Resync, "%s", harm.What)
		for i := range p.Ops {
			require.Contains(t, harm.Names, p.Ops[i].Name, "%s: the repair touches what was whole", harm.What)
		}
		require.NoError(t, l.backend.Apply(t.Context(), p))
		return false
	}
	await.True(t, quiet, "the first repair is done")
	harm, _ = target.Damage(t, "a", n)
	await.True(t, func() bool { return changed(t, w) }, "%s: not noticed", harm.What)
	f := w.Foreign()
	require.False(t, f.Unknown, "%s", harm.What)
	require.NotEmpty(t, f.Objects, "%s", harm.What)
	await.True(t, quiet, "%s: the repair is taken for a change by others", harm.What)
}

func (c *contract) faults(t *testing.T) { c.failing(t, Target.FailAt) }

func (c *contract) lostAnswers(t *testing.T) {
	if _, can := c.fresh(t).(Loser); !can {
		t.Log("the target cannot lose an answer")
		return
	}
	c.failing(t, func(target Target, k int) {
		if l, can := target.(Loser); can {
			l.LoseAt(k)
		}
	})
}

// failing takes every step of a history with every write failing in turn.
func (c *contract) failing(t *testing.T, wrong func(target Target, k int)) {
	c.each(t, 5, func(t *testing.T, states []*State) {
		for from := range states {
			before, after := c.see(&State{}), states[from]
			if from > 0 {
				before = states[from-1]
			}
			scratch := c.scratch(t, after)
			for k := 1; c.failsAt(t, k, wrong, before, after, scratch); k = c.following(k) {
				require.Less(t, k, 1000, "writes never end")
			}
		}
	})
}

// failsAt goes from one state to the next with the k-th write failing, and reports whether there was such a write.
func (c *contract) failsAt(
	t *testing.T, k int, wrong func(target Target, k int), before, after *State, scratch string,
) bool {
	t.Helper()
	target := c.fresh(t)
	l := start(t, target, "a")
	was := before.Snapshot()
	l.reconcile(t, before, was)
	target.Prepare(t, after.Endpoints, after.nodes())
	will := Advance(was, after)
	p := l.plan(t, will)
	mayDrop := l.mayDrop(p)
	wrong(target, k)
	failure := l.backend.Apply(t.Context(), p)
	wrong(target, 0)
	if failure == nil {
		require.Equal(t, scratch, target.DumpOwner(t, "a"))
		return false
	}
	require.Empty(t, target.Dangling(t), "after write %d failed", k)
	between(t, target, newTransition(was, will), l.skips, c.some(c.probes(before, after), k), mayDrop)
	switch (k + len(after.Policies)) % 3 { // how it continues
	case 0: // a loop that assumes the target is as after the last success: refused or correct
	case 1: // one that reads back
		l.reached = 0
	default: // a process that does not survive it
		l = start(t, target, "a")
	}
	l.reconcile(t, after, will)
	require.Equal(t, scratch, target.DumpOwner(t, "a"), "after write %d failed", k)
	require.Empty(t, opsText(l.plan(t, will)))
	return true
}

func (c *contract) lostTrack(t *testing.T) {
	c.each(t, 4, func(t *testing.T, states []*State) {
		s := states[len(states)-1]
		scratch := c.scratch(t, s)
		snap := intent.NewSnapshot()
		var first *intent.Snapshot
		for _, s := range states {
			if snap = Advance(snap, s); first == nil {
				first = snap
			}
		}
		for _, since := range []intent.Revision{first.Revision(), snap.Revision(), snap.Revision() + 1} {
			target := c.fresh(t)
			target.Prepare(t, s.Endpoints, s.nodes())
			l := start(t, target, "a") // never applied anything
			l.reached = since
			l.reconcile(t, s, snap)
			require.Equal(t, scratch, target.DumpOwner(t, "a"), "since %d", since)
		}
		for _, since := range []intent.Revision{first.Revision() + 1, snap.Revision()} {
			target := c.fresh(t)
			l := start(t, target, "a")
			l.reconcile(t, states[0], first)
			l.reached = since // but only the first was applied
			l.reconcile(t, s, snap)
			require.Equal(t, scratch, target.DumpOwner(t, "a"), "since %d", since)
		}
		target := c.fresh(t)
		l := start(t, target, "a")
		l.reconcile(t, states[0], first)
		for i := range 2500 { // more than a snapshot remembers
			snap = Advance(snap, states[i%2])
		}
		snap = Advance(snap, s)
		l.reconcile(t, s, snap)
		require.Equal(t, scratch, target.DumpOwner(t, "a"), "since before what is remembered")
	})
}
