package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/controller"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/source"
	"github.com/netloom/netloom/pkg/status"
)

// How statuses are written.
const (
	statusGather   = 250 * time.Millisecond // what happens within is written together
	statusFresh    = time.Second            // for how long one look at the world is good
	statusRetryMin = time.Second
	statusRetryMax = 5 * time.Minute
)

// statuses keeps the status and the finalizers of SD-WAN objects what they should be. One goroutine judges and writes.
type statuses struct {
	source      source.Source
	latest      func() *intent.Snapshot
	problems    func() []object.Problem
	loops       func() map[intent.CNFID]status.Loop
	unasked     func(intent.CNFID) bool
	clusterWide bool
	writer      *statusWriter
	log         logrus.FieldLogger

	wake    chan struct{}
	touched intent.Revision // by the last snapshot; the pipeline's goroutine alone asks

	mu      sync.Mutex
	known   map[object.Ref]intent.Scope
	dirty   map[object.Ref]bool
	queue   []object.Ref        // of those that were dirty when it was made, in order
	open    map[object.Ref]bool // that some CNF may not hold
	faults  []object.Problem    // as of the last snapshot
	resting bool                // nothing is noted: Run will look at everything

	// Only Run's goroutine touches these.
	seen  map[object.Ref]*controller.Echo[status.Object]
	later map[object.Ref]*retry
}

// retry is when an object is looked at again after a write that failed.
type retry struct {
	due   time.Time
	pause time.Duration
}

func newStatuses(source source.Source, writer *statusWriter, log logrus.FieldLogger) *statuses {
	return &statuses{
		source: source, writer: writer, log: log, wake: make(chan struct{}, 1),
		known: map[object.Ref]intent.Scope{}, dirty: map[object.Ref]bool{}, open: map[object.Ref]bool{},
		seen: map[object.Ref]*controller.Echo[status.Object]{}, later: map[object.Ref]*retry{},
	}
}

// Published takes in what a snapshot was made of. It is called by the pipeline's goroutine.
func (s *statuses) Published(p pipeline.Published) {
	faults := sdwanFaults(s.problems())
	s.mu.Lock()
	for _, ref := range p.Events {
		s.take(ref)
	}
	for ref := range object.Changed(s.faults, faults) {
		if _, ok := s.known[ref]; ok {
			s.note(ref)
		}
	}
	s.faults = faults
	s.mu.Unlock()
	s.touch(p.Snapshot)
}

// take notes an object that may have changed. The lock is held.
func (s *statuses) take(ref object.Ref) {
	if status.Finalizer(ref.Kind) == "" {
		return
	}
	object, _ := s.source.Get(ref)
	o, ok := object.(status.Object)
	if !ok {
		delete(s.known, ref)
		delete(s.open, ref)
		s.note(ref) // so that it is forgotten
		return
	}
	s.known[ref], _ = status.ScopeOf(o, s.clusterWide)
	s.note(ref)
}

// touch marks the objects that the changes since the last snapshot concern.
func (s *statuses) touch(snapshot *intent.Snapshot) {
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
	s.mark(func(_ object.Ref, scope intent.Scope) bool { return all || scopes[scope] })
}

// Changed marks the objects of a scope: all of them, or those that some CNF may not hold.
func (s *statuses) Changed(scope intent.Scope, all bool) {
	s.mark(func(ref object.Ref, of intent.Scope) bool { return of == scope && (all || s.open[ref]) })
}

func (s *statuses) mark(which func(object.Ref, intent.Scope) bool) {
	s.mu.Lock()
	for ref, scope := range s.known {
		if which(ref, scope) {
			s.note(ref)
		}
	}
	some := len(s.dirty) > 0
	s.mu.Unlock()
	if !some {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// note has an object looked at. The lock is held.
func (s *statuses) note(ref object.Ref) {
	if !s.resting {
		s.dirty[ref] = true
	}
}

// rest forgets what is to be done and was done, until Run is called, which looks at everything.
func (s *statuses) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resting = true
	clear(s.dirty)
	clear(s.open)
	clear(s.seen)
	clear(s.later)
}

// rise ends a rest.
func (s *statuses) rise() {
	s.mu.Lock()
	s.resting = false
	s.mu.Unlock()
	s.mark(func(object.Ref, intent.Scope) bool { return true })
}

// Run works until ctx ends. It may be called again.
func (s *statuses) Run(ctx context.Context) error {
	s.rise()
	defer s.rest()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-s.nextRetry():
		}
		if wait(ctx, statusGather) {
			s.settle(ctx)
		}
	}
}

// nextRetry receives when the next object is to be looked at again; it is nil when there is none.
func (s *statuses) nextRetry() <-chan time.Time {
	var first time.Time
	for _, r := range s.later {
		if first.IsZero() || r.due.Before(first) {
			first = r.due
		}
	}
	if first.IsZero() {
		return nil
	}
	return time.After(time.Until(first))
}

// settle judges every object that is dirty or due, until none is left.
func (s *statuses) settle(ctx context.Context) {
	now := time.Now()
	s.mu.Lock()
	for ref, r := range s.later {
		if !r.due.After(now) {
			s.dirty[ref] = true
		}
	}
	s.mu.Unlock()
	for ctx.Err() == nil {
		world := s.world()
		made := time.Now()
		for ctx.Err() == nil && world != nil && time.Since(made) < statusFresh {
			ref, ok := s.next()
			if !ok {
				return
			}
			s.judge(ctx, world, ref)
		}
		if world == nil {
			return
		}
	}
}

// next takes a dirty object.
func (s *statuses) next() (object.Ref, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.dirty) > 0 {
		if len(s.queue) == 0 {
			s.queue = slices.SortedFunc(maps.Keys(s.dirty), object.Ref.Compare)
		}
		ref := s.queue[0]
		s.queue = s.queue[1:]
		if s.dirty[ref] {
			delete(s.dirty, ref)
			return ref, true
		}
	}
	return object.Ref{}, false
}

// world is what is known now; nil before the first snapshot.
func (s *statuses) world() *status.World {
	loops := s.loops() // first: the snapshot is not older then
	snapshot := s.latest()
	if snapshot == nil {
		return nil
	}
	s.mu.Lock()
	faults := s.faults
	s.mu.Unlock()
	return status.NewWorld(status.Facts{
		Snapshot: snapshot, Loops: loops, Unasked: s.unasked, Problems: faults, ClusterWide: s.clusterWide,
		Now: metav1.NewTime(time.Now().UTC().Truncate(time.Second)),
	})
}

// judge brings one object to what it should say. Whatever goes wrong is tried again later.
func (s *statuses) judge(ctx context.Context, world *status.World, ref object.Ref) {
	if r := s.later[ref]; r != nil && r.due.After(time.Now()) {
		return // it is looked at then
	}
	object := s.current(ref)
	if object == nil {
		delete(s.seen, ref)
		delete(s.later, ref)
		return
	}
	err := s.write(ctx, world, ref, object)
	if errors.Is(err, errConflict) {
		if object, err = s.writer.Read(ctx, ref); err == nil && object != nil {
			err = s.write(ctx, world, ref, object)
		}
	}
	if err == nil || ctx.Err() != nil {
		delete(s.later, ref)
		s.settled(ref.Kind)
		return
	}
	r := s.later[ref]
	if r == nil {
		r = &retry{pause: statusRetryMin / 2}
		s.later[ref] = r
		s.log.WithError(err).WithField("object", ref.String()).Warn("status cannot be written, trying again")
	}
	r.pause = min(2*r.pause, statusRetryMax)
	r.due = time.Now().Add(r.pause)
}

// settled forgets what could not be written of a kind, once there is nothing left of it to be written.
func (s *statuses) settled(kind string) {
	for ref := range s.later {
		if ref.Kind == kind {
			return
		}
	}
	s.writer.refused.Forget("get "+pluralOf(kind), "patch "+pluralOf(kind), "patch "+pluralOf(kind)+"/status")
}

// write writes what the world makes of an object, if that is anything new.
func (s *statuses) write(ctx context.Context, world *status.World, ref object.Ref, o status.Object) error {
	verdict, ok := world.Of(o)
	s.mu.Lock()
	if _, known := s.known[ref]; known && !verdict.Settled {
		s.open[ref] = true
	} else {
		delete(s.open, ref)
	}
	s.mu.Unlock()
	if !ok {
		return nil // there is nothing to say
	}
	heard, err := s.writer.Write(ctx, ref, o, &verdict, s.seen[ref])
	if heard != nil {
		s.seen[ref] = heard
	}
	return err
}

// current is an object as it is now, as far as is known; nil when it is gone.
func (s *statuses) current(ref object.Ref) status.Object {
	found, _ := s.source.Get(ref)
	object, ok := found.(status.Object)
	if !ok {
		return nil
	}
	if mine := s.seen[ref]; mine.Outdates(object) {
		return mine.Object
	}
	delete(s.seen, ref)
	return object
}

// sdwanFaults are the problems of SD-WAN objects among all. What could not be read has no status.
func sdwanFaults(all []object.Problem) []object.Problem {
	return slices.DeleteFunc(slices.Clone(all), func(p object.Problem) bool {
		return p.Place != (object.Place{}) || status.Finalizer(p.Ref.Kind) == ""
	})
}

// pluralOf is how addresses of the API spell a kind.
func pluralOf(kind string) string {
	for _, r := range v1alpha1.Resources() {
		if r.Kind == kind {
			return r.Plural
		}
	}
	return ""
}
