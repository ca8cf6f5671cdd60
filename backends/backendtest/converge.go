package backendtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

func (c *contract) idempotent(t *testing.T) {
	c.each(t, 5, func(t *testing.T, states []*State) {
		target := c.fresh(t)
		l, snap := start(t, target, "a"), intent.NewSnapshot()
		for _, s := range states {
			snap = Advance(snap, s)
			l.reconcile(t, s, snap)
			writes, dump := target.Writes(t), target.Dump(t)
			for _, since := range []intent.Revision{l.reached, 0} {
				p := l.planSince(t, snap, since)
				require.Empty(t, opsText(p), "since %d", since)
				require.NoError(t, l.backend.Apply(t.Context(), p))
			}
			require.Equal(t, writes, target.Writes(t))
			require.Equal(t, dump, target.Dump(t))
		}
	})
}

func (c *contract) anyOrder(t *testing.T) {
	c.each(t, 6, func(t *testing.T, states []*State) {
		s := states[len(states)-1]
		var plan []string
		var dump string
		for i := range 4 {
			target := c.fresh(t)
			shuffle := rand.New(rand.NewPCG(uint64(i), 0))
			l, snap := start(t, target, "a"), intent.NewSnapshot()
			if i%2 == 1 { // the same content after a detour
				snap = advance(advance(snap, states[0], shuffle), states[1], shuffle)
			}
			snap = advance(snap, s, shuffle)
			p := l.reconcile(t, s, snap)
			if i == 0 {
				plan, dump = opsText(p), target.Dump(t)
				require.NotEmpty(t, dump)
			}
			require.Equal(t, plan, opsText(p))
			require.Equal(t, dump, target.Dump(t))
		}
	})
}

// paths brings targets to the last state of a history in several ways.
func (c *contract) paths(t *testing.T) {
	all := func(states []*State) []*State { return states }
	for _, road := range []struct {
		name string
		via  func(states []*State) []*State
		gap  int  // reconcile only after that many snapshots
		full bool // read back every time
	}{
		{name: "forward", via: all, gap: 1},
		{name: "forward with read-back", via: all, gap: 1, full: true},
		{name: "with gaps", via: all, gap: 3},
		{name: "squashed", via: func(s []*State) []*State { return s[len(s)-1:] }, gap: 1},
		{name: "everything at once", via: all, gap: 1 << 20},
		{name: "each twice", via: func(s []*State) []*State {
			var twice []*State
			for i := range s {
				twice = append(twice, s[i], s[i])
			}
			return twice
		}, gap: 1},
		{name: "there and back", via: func(s []*State) []*State {
			back := slices.Clone(s)
			slices.Reverse(back)
			return slices.Concat(s, back, s)
		}, gap: 2},
	} {
		t.Run(road.name, func(t *testing.T) {
			c.each(t, 10, func(t *testing.T, states []*State) {
				target := c.fresh(t)
				l, snap := start(t, target, "a"), intent.NewSnapshot()
				via := road.via(states)
				for i, s := range via {
					target.Prepare(t, s.Endpoints, s.nodes())
					snap = Advance(snap, s)
					if (i+1)%road.gap != 0 && i < len(via)-1 {
						continue
					}
					if road.full {
						l.reached = 0
					}
					l.reconcile(t, s, snap)
				}
				require.Equal(t, c.scratch(t, states[len(states)-1]), target.DumpOwner(t, "a"))
			})
		})
	}
	t.Run("reverse, each alone", func(t *testing.T) {
		c.each(t, 8, func(t *testing.T, states []*State) {
			target := c.fresh(t)
			l, snap := start(t, target, "a"), intent.NewSnapshot()
			for _, s := range slices.Backward(states) {
				snap = Advance(snap, s)
				l.reconcile(t, s, snap)
				require.Equal(t, c.scratch(t, s), target.DumpOwner(t, "a"))
			}
		})
	})
}

func (c *contract) verdicts(t *testing.T) {
	c.also(t, "hairpin").each(t, 12, func(t *testing.T, states []*State) {
		target := c.fresh(t)
		l, snap := start(t, target, "a"), intent.NewSnapshot()
		for _, s := range states {
			snap = Advance(snap, s)
			l.reconcile(t, s, snap)
			judge(t, target, snap, l.skips, c.probes(s))
		}
	})
}

func (c *contract) emptied(t *testing.T) {
	c.each(t, 3, func(t *testing.T, states []*State) {
		for _, full := range []bool{false, true} {
			target := c.fresh(t)
			nothing := c.see(&State{})
			l, snap := start(t, target, "a"), nothing.Snapshot()
			l.reconcile(t, nothing, snap)
			clean := target.DumpOwner(t, "a")
			for _, s := range append(states, nothing) {
				snap = Advance(snap, s)
				if full {
					l.reached = 0
				}
				l.reconcile(t, s, snap)
			}
			require.Equal(t, clean, target.DumpOwner(t, "a"))
		}
	})
}
