package backendtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// Refuser is a target that can refuse an object for its content, however often it is written.
type Refuser interface {
	// RefuseObject makes the target refuse every write of the object of an op, and reports whether it can. Nil ends that for all
	// objects.
	RefuseObject(t testing.TB, op *backends.Op) bool
}

// attempts bounds how often a loop plans until a plan is applied without an error although an object is refused.
const attempts = 4

// refused goes from one state to the next with one object refused for good, each in turn. That object's fault stays its own: a few
// attempts later everything else is in force, nothing is open that both states deny, and whatever differs is reported.
func (c *contract) refused(t *testing.T) {
	if _, can := c.fresh(t).(Refuser); !can {
		t.Log("the target refuses no objects")
		return
	}
	c.each(t, 4, func(t *testing.T, states []*State) {
		tried := 0
		for i, after := range states {
			before := c.see(&State{})
			if i > 0 {
				before = states[i-1]
			}
			ops := c.opsBetween(t, before, after)
			for k := 1; k <= len(ops); k = c.following(k) {
				if c.refusing(t, &ops[k-1], before, after) {
					tried++
				}
			}
		}
		require.Positive(t, tried, "no object is refused")
	})
}

// opsBetween returns the ops of the plan from one state to the next.
func (c *contract) opsBetween(t *testing.T, before, after *State) []backends.Op {
	t.Helper()
	target := c.fresh(t)
	l, snap := start(t, target, "a"), before.Snapshot()
	l.reconcile(t, before, snap)
	target.Prepare(t, after.Endpoints, after.nodes())
	return l.plan(t, Advance(snap, after)).Ops
}

// refusing goes from one state to the next while the object of an op is refused, and reports whether the target can do that.
func (c *contract) refusing(t *testing.T, op *backends.Op, before, after *State) bool {
	t.Helper()
	what := fmt.Sprintf("%s %s %q is refused", op.Verb, op.Kind, op.Name)
	target := c.fresh(t)
	of, ok := target.(Refuser)
	require.True(t, ok)
	l, was := start(t, target, "a"), before.Snapshot()
	l.reconcile(t, before, was)
	target.Prepare(t, after.Endpoints, after.nodes())
	if !of.RefuseObject(t, op) {
		return false
	}
	will, flows := Advance(was, after), c.probes(before, after)
	var err error
	for range attempts {
		p := l.plan(t, will)
		if err = l.backend.Apply(t.Context(), p); err == nil {
			l.skips, l.reached = p.Skips, will.Revision()
			break
		}
		l.reached = 0
		opened(t, target, was, will, flows, what)
	}
	require.NoError(t, err, "%s, and nothing else is in force", what)
	opened(t, target, was, will, flows, what)
	if len(l.skips) == 0 {
		judge(t, target, will, nil, flows)
	}

	of.RefuseObject(t, nil)
	for range attempts { // the first may only find that it is refused no more
		l.reached = 0
		l.reconcile(t, after, will)
	}
	l.reached = 0
	p := l.plan(t, will)
	require.Empty(t, opsText(p), "after %s", what)
	judge(t, target, will, p.Skips, c.probes(after))
	return true
}

// opened requires that the target allows nothing that both snapshots deny.
func opened(t *testing.T, target Target, was, will *intent.Snapshot, flows []intent.Flow, what string) {
	t.Helper()
	var w misjudged
	for _, f := range flows {
		f = anonymous(target, f)
		old, next := was.Evaluate(f), will.Evaluate(f)
		if old.Balanced != nil || next.Balanced != nil || old.Allowed || next.Allowed {
			continue
		}
		if target.Verdict(t, f).Allowed {
			w.add(f, "allowed while %s", what)
		}
	}
	w.require(t, target)
}
