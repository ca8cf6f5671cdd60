package backendtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/seeds"
)

// contract is what the tests of Run share.
type contract struct {
	fresh Factory
	seeds []uint64
	cnf   CNF // the target as a CNF; nil if it is not one

	stepwise bool // the target has no transactions, see Stepwise
}

// also returns c with the seeds of another test, unless -seed has chosen one.
func (c *contract) also(t *testing.T, name string) *contract {
	t.Helper()
	more := *c
	if !seeds.Given() {
		more.seeds = append(slices.Clone(c.seeds), seeds.Of(t, name)...)
	}
	return &more
}

// each runs f with every seed and a history of n states.
func (c *contract) each(t *testing.T, n int, f func(t *testing.T, states []*State)) {
	t.Helper()
	for _, seed := range c.seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { f(t, c.history(seed, n)) })
	}
}

// history returns the part of History that the target can express.
func (c *contract) history(seed uint64, n int) []*State {
	states := History(seed, n)
	for i, s := range states {
		states[i] = c.see(s)
	}
	return states
}

// scratch returns what owner "a" holds in a target of its own that was brought to s at once.
func (c *contract) scratch(t *testing.T, s *State) string {
	t.Helper()
	target := c.fresh(t)
	start(t, target, "a").reconcile(t, s, s.Snapshot())
	return target.DumpOwner(t, "a")
}

// loop drives one backend instance as the daemon does.
type loop struct {
	target  Target
	backend backends.Backend
	reached intent.Revision // zero asks for read-back
	// skips are those of the last plan from read-back and of all since: a plan of changes lists only those of what it
	// looked at.
	skips []backends.Skip
}

// start opens a backend that is closed with the test.
func start(t *testing.T, target Target, owner string) *loop {
	t.Helper()
	b := target.Open(t, owner)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return &loop{target: target, backend: b}
}

// reconcile brings the target to want, whose content is s, and returns the plan that did it.
func (l *loop) reconcile(t *testing.T, s *State, want *intent.Snapshot) *backends.Plan {
	t.Helper()
	l.target.Prepare(t, s.Endpoints, s.nodes())
	p := l.plan(t, want)
	require.NoError(t, l.backend.Apply(t.Context(), p))
	l.reached = want.Revision()
	require.Empty(t, l.target.Dangling(t))
	return p
}

// plan makes the cheapest plan there is, and one from read-back if the backend asks for that.
func (l *loop) plan(t *testing.T, want *intent.Snapshot) *backends.Plan {
	t.Helper()
	p := l.planSince(t, want, l.reached)
	if p.Resync {
		p = l.planSince(t, want, 0)
		require.False(t, p.Resync, "a plan from read-back asks for read-back")
	}
	return p
}

func (l *loop) planSince(t *testing.T, want *intent.Snapshot, since intent.Revision) *backends.Plan {
	t.Helper()
	writes := l.target.Writes(t)
	p, err := l.backend.Plan(t.Context(), want, since)
	require.NoError(t, err)
	require.Equal(t, writes, l.target.Writes(t), "planning wrote")
	require.Equal(t, want.Revision(), p.Revision)
	if p.Full {
		l.skips = nil
	}
	l.skips = append(l.skips, p.Skips...)
	if since == 0 {
		require.True(t, p.Full || p.Resync, "a plan since zero is full")
	}
	wellFormed(t, p)
	return p
}

// wellFormed checks what every plan promises, whatever its target.
func wellFormed(t *testing.T, p *backends.Plan) {
	t.Helper()
	group := 0
	for i := range p.Ops {
		op := &p.Ops[i]
		what := fmt.Sprintf("op %d: %s %s %q", i, op.Verb, op.Kind, op.Name)
		require.NotEmpty(t, op.Kind, what)
		require.NotEmpty(t, op.Name, what)
		if i > 0 {
			require.GreaterOrEqual(t, op.Group, group, "%s: groups descend", what)
		}
		group = op.Group
		switch op.Verb {
		case backends.Create:
			require.Empty(t, op.Before, what)
		case backends.Delete:
			require.Empty(t, op.After, what)
		case backends.Update, backends.Mutate, backends.Reload:
			require.NotZero(t, len(op.Before)+len(op.After), "%s: changes nothing", what)
		default:
			require.Fail(t, "no such verb", what)
		}
		for _, fields := range []backends.Fields{op.Before, op.After} {
			for name, v := range fields {
				plainValue(t, what+" field "+name, v)
			}
		}
	}
	for _, s := range p.Skips {
		require.NotEmpty(t, s.Intent)
		require.NotEmpty(t, s.Reason)
	}
}

func plainValue(t *testing.T, what string, v any) {
	t.Helper()
	switch v := v.(type) {
	case string, bool, int, map[string]string:
	case []string:
		require.True(t, slices.IsSorted(v), "%s is not sorted: %q", what, v)
	default:
		require.Failf(t, "no plain value", "%s is a %T", what, v)
	}
}

// opsText returns a plan's ops as text, for comparing plans made in different processes.
func opsText(p *backends.Plan) []string {
	var lines []string
	for i := range p.Ops {
		op := &p.Ops[i]
		lines = append(lines, fmt.Sprintf("%d %s %s %q -%v +%v", op.Group, op.Verb, op.Kind, op.Name, op.Before, op.After))
	}
	return lines
}

// Groups splits a plan into one for each group of its ops, which is a transaction each.
func Groups(p *backends.Plan) []*backends.Plan {
	var cut []*backends.Plan
	for from := 0; from < len(p.Ops); {
		to := from
		for to < len(p.Ops) && p.Ops[to].Group == p.Ops[from].Group {
			to++
		}
		part := *p
		part.Ops = p.Ops[from:to]
		cut = append(cut, &part)
		from = to
	}
	return cut
}
