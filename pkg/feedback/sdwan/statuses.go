package sdwan

import (
	"context"
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"

	"github.com/netloom/netloom/pkg/feedback/sdwan/status"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
)

// statuses keeps the status and the finalizers of SD-WAN objects up to date. It queues the objects whose status may have to
// change; Run writes them.
type statuses struct {
	env         Environment
	states      func() map[intent.CNFID]state.Target
	unread      func(intent.CNFID) bool
	clusterWide bool
	writer      *writer

	touched intent.Revision // of the last snapshot; only the goroutine of the pipeline uses it

	mu       sync.Mutex
	known    map[object.Ref]intent.Scope
	open     map[object.Ref]bool                          // objects that some CNF may not have yet
	problems []object.Problem                             // as of the last snapshot
	faults   []object.Problem                             // those of them that are reported
	queue    workqueue.TypedDelayingInterface[object.Ref] // objects to look at; nil while Run does not run
}

func newStatuses(opts Options, env Environment, w *writer, f *fleet) *statuses {
	return &statuses{
		env: env, states: f.States, unread: f.unread.Has, clusterWide: opts.ClusterWide, writer: w,
		known: map[object.Ref]intent.Scope{}, open: map[object.Ref]bool{},
	}
}

// Published takes in a snapshot and what it was made of. The goroutine of the pipeline calls it.
func (s *statuses) Published(p *pipeline.Published) {
	s.mu.Lock()
	changed := s.takeProblems(p.Problems)
	for _, ref := range p.Events {
		if status.Finalizer(ref.Kind) != "" {
			s.take(ref)
			changed[ref] = true
		}
	}
	s.mu.Unlock()
	touches := s.touch(p.Snapshot)
	s.mark(func(ref object.Ref, scope intent.Scope) bool { return changed[ref] || touches(scope) })
}

// takeProblems returns the objects whose problems have changed. The caller holds the lock.
func (s *statuses) takeProblems(all []object.Problem) map[object.Ref]bool {
	if object.SameProblems(s.problems, all) {
		return map[object.Ref]bool{}
	}
	was := s.faults
	s.problems, s.faults = all, problemsOf(all)
	return object.ChangedProblems(was, s.faults)
}

// take takes in an object that may have changed. The caller holds the lock.
func (s *statuses) take(ref object.Ref) {
	found, _ := s.env.Objects.Get(ref)
	if o, ok := found.(status.Object); ok {
		s.known[ref], _ = status.ScopeOf(o, s.clusterWide)
		return
	}
	delete(s.known, ref)
	delete(s.open, ref)
	if s.queue != nil {
		s.queue.Add(ref) // so that the writer forgets it
	}
}

// touch selects the scopes whose objects are affected by the changes since the last snapshot.
func (s *statuses) touch(snapshot *intent.Snapshot) func(intent.Scope) bool {
	changes, ok := snapshot.Since(s.touched)
	s.touched = snapshot.Revision()
	scopes := map[intent.Scope]bool{}
	all := !ok
	for i := range changes {
		all = all || changes[i].Unknown || len(changes[i].CNFs) > 0
		for _, id := range changes[i].DeviceIntents {
			if e := snapshot.DeviceIntent(id); e != nil {
				scopes[e.Scope] = true
			} else {
				all = true
			}
		}
	}
	return func(scope intent.Scope) bool { return all || scopes[scope] }
}

// Changed queues the objects of a scope: all of them, or those that some CNF may not have yet.
func (s *statuses) Changed(scope intent.Scope, all bool) {
	s.mark(func(ref object.Ref, of intent.Scope) bool { return of == scope && (all || s.open[ref]) })
}

// mark adds objects to the queue. On standby there is none: Run processes everything.
func (s *statuses) mark(which func(object.Ref, intent.Scope) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue == nil {
		return
	}
	var dirty []object.Ref
	for ref, scope := range s.known {
		if which(ref, scope) {
			dirty = append(dirty, ref)
		}
	}
	slices.SortFunc(dirty, object.Ref.Compare)
	for _, ref := range dirty {
		s.queue.Add(ref)
	}
}

// Run works until ctx ends. It may be called again.
func (s *statuses) Run(ctx context.Context) error {
	w := newStatusWorker(s)
	defer w.queue.ShutDown()
	defer context.AfterFunc(ctx, w.queue.ShutDown)()
	s.fill(w.queue)
	defer s.fill(nil)
	w.run(ctx)
	return nil
}

// fill puts all objects into a queue, and then those that change. Nil means none.
func (s *statuses) fill(queue workqueue.TypedDelayingInterface[object.Ref]) {
	s.mu.Lock()
	s.queue = queue
	clear(s.open)
	s.mu.Unlock()
	s.mark(func(object.Ref, intent.Scope) bool { return true })
}

// noteOpen records whether some CNF may not have an object yet.
func (s *statuses) noteOpen(ref object.Ref, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.known[ref]; known && open {
		s.open[ref] = true
	} else {
		delete(s.open, ref)
	}
}

// problemsOf lists the problems of SD-WAN objects among all. Objects that could not be read have no status.
func problemsOf(all []object.Problem) []object.Problem {
	return slices.DeleteFunc(slices.Clone(all), func(p object.Problem) bool {
		return p.Place != (object.Place{}) || status.Finalizer(p.Ref.Kind) == ""
	})
}
