package policy

import (
	"errors"
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/feedback/target"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

// staleAfter is how long the rounds of a target may fail before its contents count as unknown.
const staleAfter = 2 * time.Minute

// rounds observes the loops of the targets.
type rounds struct {
	reconcile.Observers // nil: events that are not overridden are ignored

	of *tracker
}

// Failed records that a round failed.
func (r rounds) Failed(target string, _ reconcile.Phase, _ error) { r.of.failed(target) }

// Disturbed records that others contest a target, or that this has ended. Single changes by others are repaired before anyone could notice
// them.
func (r rounds) Disturbed(target string, d *reconcile.Disturbance) {
	r.of.contested(target, d != nil && d.Contested)
}

// Converged records that a target is in sync.
func (r rounds) Converged(target string, _ intent.Revision, _ int) { r.of.converged(target) }

// failed queues the objects that the target may not enforce, or all if its rounds begin to fail: what was reported during
// the round may be wrong.
func (t *tracker) failed(target string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.move()
	if _, already := t.trouble[target]; already {
		t.addOpen()
		return
	}
	t.trouble[target] = time.Now()
	t.addAll()
	t.do(lookAround, staleAfter)
}

// contested queues all objects when others begin to contest a target, and when that has ended.
func (t *tracker) contested(target string, yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.contests[target] == yes {
		return
	}
	t.contests[target] = yes
	t.move()
	t.addAll()
}

// converged queues the objects that the target may not have enforced, or all if its rounds failed before.
func (t *tracker) converged(target string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.move()
	if _, was := t.trouble[target]; was {
		delete(t.trouble, target)
		t.addAll()
	} else {
		t.addOpen()
	}
	t.do(lookAround, 0)
}

// troubleSince returns since when the rounds of a target fail; false if they do not. Those of one that has never been in
// sync have failed since began.
func (t *tracker) troubleSince(target string, never bool, began time.Time) (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if since, ok := t.trouble[target]; ok {
		return since, true
	}
	return began, never
}

// targets returns the targets as they are reported, by their rounds since the term began.
func (c *Controller) targets() []report.Target {
	var out []report.Target
	for _, t := range c.opts.State.Targets() {
		one := t.Standing(c.began)
		one.Name = reportName(t.Name, c.opts.Node)
		if since, ok := c.troubleSince(t.Name, one.Revision == 0, c.began); ok {
			one.Stale = time.Since(since) >= staleAfter
		}
		out = append(out, one)
	}
	return out
}

// Standing returns what is known about a target by the rounds of its loop since began. It does not set Stale.
func (t *Target) Standing(began time.Time) report.Target {
	s := t.Status
	out := report.Target{Target: target.Of(&s, began), Name: t.Name, Missing: t.Missing, Rows: t.Rows}
	switch {
	case s.Converged:
	case s.Disturbed != nil && errors.Is(s.Err, s.Disturbed):
		out.Trouble, out.Disturbed, out.Disturbance = "", s.Disturbed.Changed, s.Disturbed.Error()
	case s.Err == nil:
		out.Trouble = "it has not answered yet"
	}
	return out
}

// reportName returns the name of a target in a PolicyStatus.
func reportName(name, node string) string {
	if node == "" {
		return name
	}
	return name + "/" + node
}

// Target is a target whose policies are reported on.
type Target struct {
	Name    string
	Status  reconcile.Status                          // of its loop
	Missing backends.Gaps                             // endpoints that it does not know
	Rows    func(*intent.Snapshot, intent.Origin) int // counts the rows of the policies of an origin; nil if it cannot be done
}
