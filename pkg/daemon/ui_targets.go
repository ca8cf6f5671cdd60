package daemon

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/query"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/webui"
)

// shownOps is how many writes of a plan the web page lists.
const shownOps = 50

// targetNotes observe the loops for the web page: what a loop's status does not tell.
type targetNotes struct {
	feed *webui.Feed

	mu     sync.Mutex
	newest intent.Revision
	since  time.Time // when the first change of the newest revision was taken
	of     map[string]*targetNote
}

// targetNote is what is known of one target.
type targetNote struct {
	plan, write *webui.Plan
	mishap      *webui.Mishap
	state       string          // why the target is not in step, as told; "" when it is
	reached     intent.Revision // that the target agreed with
	latency     time.Duration   // of the newest revision that it came to agree with
}

func newTargetNotes(feed *webui.Feed) *targetNotes {
	return &targetNotes{feed: feed, of: map[string]*targetNote{}}
}

// target is the note of a target. The lock is held.
func (n *targetNotes) target(name string) *targetNote {
	t := n.of[name]
	if t == nil {
		t = &targetNote{state: "it has not been written to yet"}
		n.of[name] = t
	}
	return t
}

// keep drops what is known of CNFs that are gone.
func (n *targetNotes) keep(s *intent.Snapshot) {
	there := map[string]bool{}
	for g := range s.CNFs() {
		there[query.CNFTarget(g)] = true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.of, func(name string, _ *targetNote) bool { return strings.HasPrefix(name, cnfTargets) && !there[name] })
}

// wanted notes that there is a revision to come to.
func (n *targetNotes) wanted(r intent.Revision, since time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r != n.newest {
		n.newest, n.since = r, since
	}
}

// Planned notes the plan.
func (n *targetNotes) Planned(target string, p *backends.Plan, took time.Duration) {
	plan := &webui.Plan{
		At: time.Now(), Revision: p.Revision, Full: p.Full, Summary: p.Summary(), Planned: webui.MillisOf(took),
		MoreOps: max(0, len(p.Ops)-shownOps),
	}
	for i := range p.Ops[:min(len(p.Ops), shownOps)] {
		o := &p.Ops[i]
		plan.Ops = append(plan.Ops, webui.Op{Verb: o.Verb.String(), Kind: o.Kind, Name: o.Name, Origin: o.Origin})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.target(target).plan = plan
}

// Applied notes that the plan was written.
func (n *targetNotes) Applied(target string, p *backends.Plan, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.target(target)
	if t.plan != nil && t.plan.Revision == p.Revision {
		written := *t.plan
		written.Applied = webui.MillisOf(took)
		t.plan, t.write = &written, &written
	}
	n.feed.Add(webui.Event{
		At: time.Now(), Kind: webui.PlanApplied, Target: target, Revision: p.Revision,
		Text: fmt.Sprintf("%s: %s, in %s", target, p.Summary(), took.Round(time.Microsecond)),
	})
}

// Failed notes the error, and tells it unless it is known.
func (n *targetNotes) Failed(target string, _ reconcile.Phase, err error) {
	n.outOfStep(target, "is out of step: "+err.Error())
}

// covered tells which selected pods the target does not find, so that the page asks anew.
func (n *targetNotes) covered(target string, _, now backends.Gaps) {
	text := target + " finds all pods that policies select"
	if now.Len() > 0 {
		text = fmt.Sprintf("%s does not find %s: %s", target, countOf(now.Len(), "selected pod"), now.Text())
	}
	n.feed.Add(webui.Event{At: time.Now(), Kind: webui.TargetChanged, Target: target, Text: text})
}

func (n *targetNotes) outOfStep(target, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.target(target)
	t.mishap = &webui.Mishap{At: time.Now(), Message: target + " " + why}
	if t.state != why {
		t.state = why
		n.feed.Add(webui.Event{At: time.Now(), Kind: webui.TargetChanged, Target: target, Text: target + " " + why})
	}
}

// Drift tells that somebody else wrote to the target.
func (n *targetNotes) Drift(target string, ops int) {
	n.feed.Add(webui.Event{
		At: time.Now(), Kind: webui.TargetChanged, Target: target,
		Text: fmt.Sprintf("%s was changed by someone else: %s to put it right", target, countOf(ops, "operation")),
	})
}

// Converged notes how long it took, and tells when the target was out of step before.
func (n *targetNotes) Converged(target string, r intent.Revision, _ int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.target(target)
	if r == n.newest && r != t.reached {
		t.latency = time.Since(n.since)
	}
	t.reached = r
	if t.state != "" {
		t.state = ""
		n.feed.Add(webui.Event{
			At: time.Now(), Kind: webui.TargetChanged, Target: target, Revision: r,
			Text: fmt.Sprintf("%s is in step with revision %d", target, r),
		})
	}
}

// Targets tells how each target stands.
func (u *ui) Targets() []webui.Target {
	out := make([]webui.Target, 0, len(u.daemon.targets))
	for _, t := range u.daemon.targets {
		s := t.loop.Status()
		target := u.target(t.Name, &s)
		if t.Up != nil {
			up := t.Up()
			target.Up = &up
		}
		if c, ok := u.daemon.coverage.Coverage(t.Name); ok {
			target.Coverage = &webui.Coverage{Selected: c.Selected, Enforced: c.Enforced(), Kept: c.Kept + c.Held, Faults: c.Faults()}
		}
		out = append(out, target)
	}
	return append(out, u.cnfs()...)
}

// target is what the page says of a target whose loop stands so.
func (u *ui) target(name string, s *reconcile.Status) webui.Target {
	out := webui.Target{
		Name: name, Health: healthOf(s), Revision: s.Revision, Wanted: s.Wanted, Owned: s.Owned,
		LastConverged: s.LastConverged, NextRetry: s.NextRetry,
		Writes: s.Applies, Failures: s.Failures, Drifts: s.Drifts,
	}
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	for _, skip := range s.Skips {
		out.Skips = append(out.Skips, webui.Skip(skip))
	}
	u.notes.mu.Lock()
	defer u.notes.mu.Unlock()
	note := u.notes.target(name)
	out.LastPlan, out.LastWrite, out.LastError = note.plan, note.write, note.mishap
	out.Latency = webui.MillisOf(note.latency)
	return out
}

// healthOf is a status in a word.
func healthOf(s *reconcile.Status) webui.Health {
	switch {
	case s.Err != nil:
		return webui.OutOfStep
	case s.Converged:
		return webui.InStep
	default:
		return webui.Waiting
	}
}
