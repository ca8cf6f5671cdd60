package daemon

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/report"
	"github.com/netloom/netloom/pkg/source"
)

// urgency orders the objects that are to be looked at.
type urgency uint8

// Calm is what may have changed with others, News what is known to have changed.
const (
	calm urgency = iota
	news
)

// told is an object that is told of, as it was translated last.
type told struct {
	uid        string
	generation int64
	first      bool // it was there at the start
}

// book keeps which objects are to be looked at. The pipeline and the loops write into it, the goroutine of feedback reads.
type book struct {
	source   source.Source
	policyOf func(object.Ref) *networkingv1.NetworkPolicy // as it was translated; the pipeline's goroutine alone asks
	touched  intent.Revision                              // by the last snapshot; likewise
	last     *intent.Snapshot                             // the one published last; nil before the first
	wake     chan struct{}

	mu      sync.Mutex
	moves   uint64 // counts snapshots and rounds of loops: what was worked out before the last may be wrong
	known   map[object.Ref]told
	dirty   map[object.Ref]bool
	urgent  map[object.Ref]bool   // of those that are dirty: news
	open    map[object.Ref]bool   // that some target may not enforce
	sized   map[intent.SetID]bool // whose members changed, and whose sizes have not been told since
	nodes   map[string]bool       // that are there; nil where they are of no interest
	gaps    gaps                  // in coverage
	faults  []object.Problem      // as of the last snapshot
	trouble map[string]time.Time  // by target: since when it is in trouble
	resting bool                  // nobody reads, so nothing is noted: all is looked at once somebody does
}

func newBook() *book {
	return &book{
		wake: make(chan struct{}, 1), known: map[object.Ref]told{}, dirty: map[object.Ref]bool{}, open: map[object.Ref]bool{},
		urgent: map[object.Ref]bool{}, sized: map[intent.SetID]bool{}, trouble: map[string]time.Time{},
	}
}

// published takes in what a snapshot was made of. It is called by the pipeline's goroutine.
func (b *book) published(p pipeline.Published, problems []object.Problem) {
	faults := policyFaults(problems)
	first := b.touched == 0
	b.mu.Lock()
	b.moves++
	moved := false
	for _, ref := range p.Events {
		moved = b.takeNode(ref) || moved
		b.take(ref, first)
	}
	for key := range object.Changed(b.faults, faults) {
		b.markLocked(key, calm)
	}
	b.faults = faults
	changes, ok := p.Snapshot.Since(b.touched)
	was := cmp.Or(b.last, p.Snapshot) // which has the policies that went
	b.last = p.Snapshot
	b.touched = max(1, p.Snapshot.Revision())
	for i := range changes {
		c := &changes[i]
		for _, id := range c.Policies {
			if policy := cmp.Or(p.Snapshot.Policy(id), was.Policy(id)); policy != nil && policy.Origin.Kind == report.KindNetworkPolicy {
				b.markLocked(policy.Origin.Ref(), news)
			}
		}
		for _, id := range c.LoadBalancers {
			if lb := p.Snapshot.LoadBalancer(id); lb != nil {
				b.markLocked(object.Ref{Kind: report.KindService, Namespace: lb.Origin.Namespace, Name: lb.Origin.Name}, calm)
			}
		}
		for j := range c.Members {
			b.resized(c.Members[j].ID)
			b.regrouped(&c.Members[j])
		}
	}
	if !ok || moved {
		b.markAllLocked(calm)
	}
	b.mu.Unlock()
	b.ring()
}

// takeNode says whether ref is a node that came or went: its targets have a say while it is there. The lock is held.
func (b *book) takeNode(ref object.Ref) bool {
	if b.nodes == nil || ref.Kind != source.KindNode {
		return false
	}
	_, there := b.source.Get(ref)
	had := b.nodes[ref.Name]
	if there {
		b.nodes[ref.Name] = true
	} else {
		delete(b.nodes, ref.Name)
	}
	return there != had
}

// nodeNames lists the nodes that are there.
func (b *book) nodeNames() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.nodes))
}

// take notes an object that may have changed. The lock is held.
func (b *book) take(ref object.Ref, first bool) {
	var o metav1.Object
	switch ref.Kind {
	case report.KindNetworkPolicy:
		if p := b.policyOf(ref); p != nil {
			o = p
		}
	case report.KindService:
		found, _ := b.source.Get(ref)
		o, _ = found.(metav1.Object)
	default:
		return
	}
	how := news
	if first { // what is new later comes before
		how = calm
	}
	b.note(ref, how)
	if o == nil {
		delete(b.known, ref)
		delete(b.open, ref)
		return
	}
	was, had := b.known[ref]
	now := told{uid: string(o.GetUID()), generation: o.GetGeneration(), first: first}
	if had && was.uid == now.uid {
		now.first = was.first
	}
	b.known[ref] = now
}

// mark has an object looked at, if it is known.
func (b *book) mark(key object.Ref, how urgency) {
	b.mu.Lock()
	b.markLocked(key, how)
	b.mu.Unlock()
	b.ring()
}

func (b *book) markLocked(key object.Ref, how urgency) {
	if _, ok := b.known[key]; ok {
		b.note(key, how)
	}
}

// note has an object looked at. The lock is held.
func (b *book) note(key object.Ref, how urgency) {
	if b.resting {
		return
	}
	b.dirty[key] = true
	if how == news {
		b.urgent[key] = true
	}
}

// resized notes that a set has other members. The lock is held.
func (b *book) resized(id intent.SetID) {
	if !b.resting {
		b.sized[id] = true
	}
}

// rest forgets what is to be looked at, until begin has all looked at.
func (b *book) rest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.resting = true
	clear(b.dirty)
	clear(b.urgent)
	clear(b.open)
	clear(b.sized)
	b.gaps.clear()
}

// markAll has every object looked at.
func (b *book) markAll() {
	b.mu.Lock()
	b.markAllLocked(calm)
	b.mu.Unlock()
	b.ring()
}

func (b *book) markAllLocked(how urgency) {
	for key := range b.known {
		b.note(key, how)
	}
}

// markOpen has those looked at that some target may not enforce.
func (b *book) markOpen() {
	b.mu.Lock()
	some := len(b.open) > 0 || len(b.dirty) > 0
	for key := range b.open {
		b.markLocked(key, news)
	}
	b.mu.Unlock()
	if some {
		b.ring()
	}
}

func (b *book) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// sequence counts what makes a world a thing of the past.
func (b *book) sequence() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.moves
}

// entry is an object that is to be looked at.
type entry struct {
	key   object.Ref
	is    told
	there bool // it is not gone
}

// next takes the most urgent object, if nothing has moved since seen was the sequence. Without any it is nil.
func (b *book) next(seen uint64) (e *entry, moved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.dirty) == 0 || b.moves != seen {
		return nil, b.moves != seen
	}
	from := b.urgent
	if len(from) == 0 {
		from = b.dirty
	}
	e = &entry{}
	for e.key = range from {
		break // any
	}
	delete(b.urgent, e.key)
	delete(b.dirty, e.key)
	e.is, e.there = b.known[e.key]
	return e, false
}

// settle notes whether a policy may not be enforced by some target, as was worked out when seen was the sequence.
func (b *book) settle(key object.Ref, settled bool, seen uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.known[key]; !known || settled {
		delete(b.open, key)
		return
	}
	b.open[key] = true
	if b.moves != seen { // a target may have caught up already, and will not say so again
		b.markLocked(key, news)
	}
}

// takeSized takes the sets whose sizes have not been told.
func (b *book) takeSized() []intent.SetID {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := slices.Collect(maps.Keys(b.sized))
	clear(b.sized)
	return out
}

func (b *book) anySized() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sized) > 0
}

func (b *book) problems() []object.Problem {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faults
}

// begin forgets what is known of the targets: another process may have kept them meanwhile, and have told of what is there.
func (b *book) begin() {
	b.mu.Lock()
	b.resting = false
	clear(b.trouble)
	for key, is := range b.known {
		is.first = true
		b.known[key] = is
	}
	b.mu.Unlock()
	b.markAll()
}

// troubleSince is since when a target is in trouble; false when it is not. One that has agreed with nothing is in trouble
// since began.
func (b *book) troubleSince(target string, never bool, began time.Time) (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if since, ok := b.trouble[target]; ok {
		return since, true
	}
	return began, never
}

// nextStale is when the next target will have been in trouble for too long; zero when there is none.
func (b *book) nextStale(now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	var first time.Time
	for _, since := range b.trouble {
		if due := since.Add(staleAfter); due.After(now) && (first.IsZero() || due.Before(first)) {
			first = due
		}
	}
	return first
}

// Planned tells nothing.
func (*book) Planned(string, *backends.Plan, time.Duration) {}

// Applied tells nothing.
func (*book) Applied(string, *backends.Plan, time.Duration) {}

// Drift tells nothing: it is repaired at once.
func (*book) Drift(string, int) {}

// Failed has those looked at that the target may not enforce, or all when its trouble begins: what was told of them while the
// round was under way may be wrong now.
func (b *book) Failed(target string, _ reconcile.Phase, _ error) { b.bad(target) }

// Refused does likewise.
func (b *book) Refused(target string, _, _ int) { b.bad(target) }

func (b *book) bad(target string) {
	b.mu.Lock()
	b.moves++
	_, already := b.trouble[target]
	if !already {
		b.trouble[target] = time.Now()
	}
	b.mu.Unlock()
	if !already {
		b.markAll() // which rings, so that it is known when it will be too long
		return
	}
	b.markOpen()
}

// Converged has those looked at that the target did not enforce, or all when it was in trouble.
func (b *book) Converged(target string, _ intent.Revision, _ int) {
	b.mu.Lock()
	b.moves++
	_, was := b.trouble[target]
	delete(b.trouble, target)
	b.mu.Unlock()
	if was {
		b.markAll()
		return
	}
	b.markOpen()
}
