package live

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/serve/web"
)

// shownOps is how many writes of a plan the web page lists.
const shownOps = 50

// cnfTargets is the prefix of the names of the targets of CNFs.
const cnfTargets = "openwrt/"

// notes observes the loops, for what the status of a loop lacks.
type notes struct {
	feed *web.Feed

	mu     sync.Mutex
	newest intent.Revision
	since  time.Time        // when the first change of the newest revision was taken
	of     map[string]*note // by target
}

// note is what is known of one target.
type note struct {
	plan, write *web.Plan
	lastError   *web.TargetError
	state       string          // why the target is out of sync, as announced; "" if it is in sync
	reached     intent.Revision // the last one that the target was in sync with
	latency     time.Duration   // of the newest revision that it was synced with
}

func newNotes(feed *web.Feed) *notes {
	return &notes{feed: feed, of: map[string]*note{}}
}

// target returns the note of a target. The lock is held.
func (n *notes) target(name string) *note {
	t := n.of[name]
	if t == nil {
		t = &note{state: "it has not been written to yet"}
		n.of[name] = t
	}
	return t
}

// keep drops what is known of CNFs that are gone.
func (n *notes) keep(s *intent.Snapshot) {
	there := map[string]bool{}
	for g := range s.CNFs() {
		there[g.Target()] = true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.of, func(name string, _ *note) bool { return strings.HasPrefix(name, cnfTargets) && !there[name] })
}

// wanted records the newest revision, and when its first change came.
func (n *notes) wanted(r intent.Revision, since time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r != n.newest {
		n.newest, n.since = r, since
	}
}

// Planned records the plan.
func (n *notes) Planned(target string, p *backends.Plan, took time.Duration) {
	plan := &web.Plan{
		At: time.Now(), Revision: p.Revision, Full: p.Full, Summary: p.Summary(), Planned: web.MillisOf(took),
		MoreOps: max(0, len(p.Ops)-shownOps),
	}
	for i := range p.Ops[:min(len(p.Ops), shownOps)] {
		o := &p.Ops[i]
		plan.Ops = append(plan.Ops, web.Op{Verb: o.Verb.String(), Kind: o.Kind, Name: o.Name, Origin: o.Origin})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.target(target).plan = plan
}

// Applied records that the plan was written.
func (n *notes) Applied(target string, p *backends.Plan, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.target(target)
	if t.plan != nil && t.plan.Revision == p.Revision {
		written := *t.plan
		written.Applied = web.MillisOf(took)
		t.plan, t.write = &written, &written
	}
	n.feed.Add(web.Event{
		At: time.Now(), Kind: web.PlanApplied, Target: target, Revision: p.Revision,
		Text: fmt.Sprintf("%s: %s, in %s", target, p.Summary(), took.Round(time.Microsecond)),
	})
}

// Failed records the error, and announces it unless it is known.
func (n *notes) Failed(target string, _ reconcile.Phase, err error) {
	n.outOfSync(target, "is out of sync: "+err.Error())
}

// covered announces which selected pods the target does not find, so that the page is loaded again.
func (n *notes) covered(target string, _, now backends.Gaps) {
	text := target + " finds all pods that policies select"
	if now.Len() > 0 {
		text = fmt.Sprintf("%s does not find %s: %s", target, countOf(now.Len(), "selected pod"), now.Text())
	}
	n.feed.Add(web.Event{At: time.Now(), Kind: web.TargetChanged, Target: target, Text: text})
}

func (n *notes) outOfSync(target, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.target(target)
	t.lastError = &web.TargetError{At: time.Now(), Message: target + " " + why}
	if t.state != why {
		t.state = why
		n.feed.Add(web.Event{At: time.Now(), Kind: web.TargetChanged, Target: target, Text: target + " " + why})
	}
}

// Drift announces that another writer changed the target.
func (n *notes) Drift(target string, ops int) {
	n.feed.Add(web.Event{
		At: time.Now(), Kind: web.TargetChanged, Target: target,
		Text: fmt.Sprintf("%s was changed by someone else: %s to repair it", target, countOf(ops, "operation")),
	})
}

// Disturbed announces that others contest a target. Single changes by others are announced when they are repaired.
func (n *notes) Disturbed(target string, d *reconcile.Disturbance) {
	if d != nil && d.Contested {
		n.outOfSync(target, "is "+d.Error())
	}
}

// Blind announces that changes of the target by others cannot be seen.
func (n *notes) Blind(target string, why error) {
	if why != nil {
		n.outOfSync(target, "is out of sync: "+why.Error())
	}
}

// Converged records how long it took, and announces it if the target was out of sync before.
func (n *notes) Converged(target string, r intent.Revision, _ int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.target(target)
	if r == n.newest && r != t.reached {
		t.latency = time.Since(n.since)
	}
	t.reached = r
	if t.state != "" {
		t.state = ""
		n.feed.Add(web.Event{
			At: time.Now(), Kind: web.TargetChanged, Target: target, Revision: r,
			Text: fmt.Sprintf("%s is in sync with revision %d", target, r),
		})
	}
}
