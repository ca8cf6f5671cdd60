package policy

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
)

// kindNode is the kind of nodes.
const kindNode = "Node"

// tracker knows the objects to report on, and which of them to process again. The pipeline, the loops and the watch of
// PolicyStatus objects write to it; the worker reads.
type tracker struct {
	state   State
	touched intent.Revision  // by the last snapshot; only Published uses it
	last    *intent.Snapshot // likewise; nil before the first
	moved   chan struct{}    // of size 1: the world has changed

	mu       sync.Mutex
	queue    *queue // nil between terms: nothing is queued, as a term begins with everything
	moves    uint64 // counts snapshots and rounds of loops: results from before the last one may be wrong
	known    map[object.Ref]tracked
	open     map[object.Ref]bool   // that some target may not enforce
	sized    map[intent.SetID]bool // whose members have changed since their sizes were reported
	sizesDue time.Time             // when the sizes of sets may be reported again
	nodes    map[string]bool       // that exist; nil if they do not matter
	gaps     gaps                  // in coverage
	problems []object.Problem      // as of the last snapshot
	faults   []object.Problem      // those of them that are reported
	trouble  map[string]time.Time  // by target: since when its rounds have failed
	contests map[string]bool       // by target: others change it faster than it is repaired
	staged   []object.Ref          // as of the last snapshot, sorted
	tried    map[object.Ref]string // what was seen of the connections that staged policies are about
	kept     map[object.Ref]string // why targets keep objects that the source does not have
}

// tracked is an object as last translated.
type tracked struct {
	uid        string
	generation int64
	initial    bool // it existed when the term began, or at the start
}

func newTracker(state State, nodes bool) *tracker {
	t := &tracker{
		state: state, moved: make(chan struct{}, 1), known: map[object.Ref]tracked{}, open: map[object.Ref]bool{},
		sized: map[intent.SetID]bool{}, trouble: map[string]time.Time{}, contests: map[string]bool{}, kept: map[object.Ref]string{},
		tried: map[object.Ref]string{},
	}
	if nodes {
		t.nodes = map[string]bool{}
	}
	return t
}

// begin starts a term. What is known about the targets is dropped: another process may have written to them and reported on them in the
// meantime.
func (t *tracker) begin() *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue, t.sizesDue = newQueue(), time.Now().Add(sizeInterval)
	clear(t.trouble)
	clear(t.contests)
	for ref, is := range t.known {
		is.initial = true
		t.known[ref] = is
	}
	t.addAll()
	for ref := range t.kept {
		t.queue.Add(ref)
	}
	t.queue.do(lookAround, staleAfter)
	return t.queue
}

// end ends a term.
func (t *tracker) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue.ShutDown()
	t.queue = nil
	clear(t.open)
	clear(t.sized)
	t.gaps.clear()
}

// Published records what a snapshot was made from. Only the pipeline's goroutine calls it.
func (t *tracker) Published(p pipeline.Published) {
	first := t.touched == 0
	t.mu.Lock()
	defer t.mu.Unlock()
	t.move()
	nodesChanged := false
	for _, ref := range p.Events {
		nodesChanged = t.takeNode(ref) || nodesChanged
		t.take(ref, first)
	}
	t.takeProblems(p.Problems)
	t.takeStaged(p.Staged)
	changes, known := p.Snapshot.Since(t.touched)
	before := cmp.Or(t.last, p.Snapshot) // which has the policies that went
	t.last, t.touched = p.Snapshot, max(1, p.Snapshot.Revision())
	for i := range changes {
		t.takeChange(&changes[i], p.Snapshot, before)
	}
	if !known || nodesChanged {
		t.addAll()
	}
	t.do(lookAround, 0)
}

// takeProblems queues the objects whose problems have changed. The lock is held.
func (t *tracker) takeProblems(all []object.Problem) {
	if object.SameProblems(t.problems, all) {
		return
	}
	faults := problemsOf(all)
	for ref := range object.ChangedProblems(t.faults, faults) {
		t.add(ref)
	}
	t.problems, t.faults = all, faults
}

// takeStaged queues the policies that have become staged, and those that no longer are. The lock is held.
func (t *tracker) takeStaged(now []object.Ref) {
	was := t.staged
	t.staged = now
	for _, lists := range [][2][]object.Ref{{was, now}, {now, was}} {
		for _, ref := range lists[0] {
			if _, both := slices.BinarySearchFunc(lists[1], ref, object.Ref.Compare); !both {
				delete(t.tried, ref)
				t.add(ref)
			}
		}
	}
}

// takeChange queues the objects that a change of the snapshot affects. The lock is held.
func (t *tracker) takeChange(c *intent.Change, now, before *intent.Snapshot) {
	for _, id := range c.Policies {
		if p := cmp.Or(now.Policy(id), before.Policy(id)); p != nil && object.IsPolicy(p.Origin.Kind) {
			t.addFirst(p.Origin.Ref())
		}
	}
	for _, id := range c.LoadBalancers {
		if lb := now.LoadBalancer(id); lb != nil {
			t.add(lb.Origin.Ref())
		}
	}
	for _, id := range c.Sets {
		t.resized(id)
	}
	for i := range c.Members {
		t.resized(c.Members[i].ID)
		t.regrouped(&c.Members[i])
	}
}

// takeNode reports whether ref is a node that was added or deleted: its targets count while it exists. The lock is held.
func (t *tracker) takeNode(ref object.Ref) bool {
	if t.nodes == nil || ref.Kind != kindNode {
		return false
	}
	_, there := t.state.Object(ref)
	had := t.nodes[ref.Name]
	if there {
		t.nodes[ref.Name] = true
	} else {
		delete(t.nodes, ref.Name)
	}
	return there != had
}

// take records an object that may have changed; first is true for the first snapshot. The lock is held.
func (t *tracker) take(ref object.Ref, first bool) {
	var o metav1.Object
	switch {
	case object.IsPolicy(ref.Kind):
		if p, ok := t.state.Policy(ref); ok {
			o = p
		}
	case ref.Kind == object.KindService:
		found, _ := t.state.Object(ref)
		o, _ = found.(metav1.Object)
	default:
		return
	}
	was, had := t.known[ref]
	if o == nil {
		delete(t.known, ref)
		delete(t.open, ref)
	} else {
		now := tracked{uid: string(o.GetUID()), generation: o.GetGeneration(), initial: first}
		if had && was.uid == now.uid {
			now.initial = was.initial
		}
		t.known[ref] = now
	}
	switch {
	case t.queue == nil:
	case first:
		t.queue.Add(ref)
	default:
		t.queue.addFirst(ref) // a change comes before what existed at the start
	}
}

// add queues an object, if it is known or kept. The lock is held.
func (t *tracker) add(ref object.Ref) {
	if _, ok := t.known[ref]; (ok || t.kept[ref] != "") && t.queue != nil {
		t.queue.Add(ref)
	}
}

// addFirst queues an object before others, if it is known. The lock is held.
func (t *tracker) addFirst(ref object.Ref) {
	if _, ok := t.known[ref]; ok && t.queue != nil {
		t.queue.addFirst(ref)
	}
}

// addAll queues every object. The lock is held.
func (t *tracker) addAll() {
	for ref := range t.known {
		t.add(ref)
	}
}

// addOpen queues the objects that some target may not enforce. The lock is held.
func (t *tracker) addOpen() {
	for ref := range t.open {
		t.addFirst(ref)
	}
}

// do queues a chore, after a time. The lock is held.
func (t *tracker) do(chore string, after time.Duration) {
	if t.queue != nil {
		t.queue.do(chore, after)
	}
}

// look queues an object, if it is known.
func (t *tracker) look(ref object.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(ref)
}

// lookFirst queues an object before others, if it is known.
func (t *tracker) lookFirst(ref object.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addFirst(ref)
}

// lookAll queues every object.
func (t *tracker) lookAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addAll()
}

// move records that results so far may be wrong. The lock is held.
func (t *tracker) move() {
	t.moves++
	t.ring()
}

// ring wakes the worker if it waits for a world in which it can judge.
func (t *tracker) ring() {
	select {
	case t.moved <- struct{}{}:
	default:
	}
}

// sequence counts the moves.
func (t *tracker) sequence() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.moves
}

// is returns an object as last translated; false if it is gone.
func (t *tracker) is(ref object.Ref) (tracked, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	is, ok := t.known[ref]
	return is, ok
}

// setOpen records whether some target may not enforce a policy; seen is the sequence when this was determined.
func (t *tracker) setOpen(ref object.Ref, settled bool, seen uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.known[ref]; !known || settled {
		delete(t.open, ref)
		return
	}
	t.open[ref] = true
	if t.moves != seen { // a target may be in sync by now, and no other round need follow
		t.addFirst(ref)
	}
}

// resized records that the members of a set have changed. The lock is held.
func (t *tracker) resized(id intent.SetID) {
	if t.queue == nil {
		return
	}
	if len(t.sized) == 0 {
		t.do(sizesDue, time.Until(t.sizesDue))
	}
	t.sized[id] = true
}

// takeSized takes the sets whose sizes were not reported, and starts the interval until sizes are reported again.
func (t *tracker) takeSized() []intent.SetID {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sizesDue = time.Now().Add(sizeInterval)
	out := slices.Collect(maps.Keys(t.sized))
	clear(t.sized)
	return out
}

// facts returns what the tracker contributes to a world.
func (t *tracker) facts() (problems []object.Problem, staged []object.Ref, tried map[object.Ref]string, nodes []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.faults, t.staged, maps.Clone(t.tried), slices.Sorted(maps.Keys(t.nodes))
}

// isReported reports whether objects of a kind are reported on.
func isReported(kind string) bool { return object.IsPolicy(kind) || kind == object.KindService }

// problemsOf lists the problems of policies and Services among all. Objects that could not be read have no status.
func problemsOf(all []object.Problem) []object.Problem {
	return slices.DeleteFunc(slices.Clone(all), func(p object.Problem) bool {
		return p.Place != (object.Place{}) || !isReported(p.Ref.Kind)
	})
}
