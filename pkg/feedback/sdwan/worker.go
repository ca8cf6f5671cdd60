package sdwan

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/sdwan/status"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/object"
)

// How statuses are written.
const (
	statusGather   = 250 * time.Millisecond // changes within this time are one write
	statusFresh    = time.Second            // for how long a World is used
	statusRetryMin = time.Second
	statusRetryMax = 5 * time.Minute
)

// statusWorker writes the objects in the queue, during one run.
type statusWorker struct {
	*statuses
	queue   workqueue.TypedDelayingInterface[object.Ref]
	backoff workqueue.TypedRateLimiter[object.Ref]
	retries map[object.Ref]time.Time // when to retry objects whose last write failed
	echoes  map[object.Ref]*feedback.Echo[status.Object]
}

func newStatusWorker(s *statuses) *statusWorker {
	return &statusWorker{
		statuses: s, queue: workqueue.NewTypedDelayingQueue[object.Ref](),
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[object.Ref](statusRetryMin, statusRetryMax),
		retries: map[object.Ref]time.Time{}, echoes: map[object.Ref]*feedback.Echo[status.Object]{},
	}
}

// run works until ctx ends, which shuts the queue down.
func (w *statusWorker) run(ctx context.Context) {
	for {
		first, ended := w.queue.Get()
		if ended || !feedback.Wait(ctx, statusGather) {
			return
		}
		w.drain(ctx, first)
	}
}

// drain processes an object taken from the queue, and then those in it until it is empty.
func (w *statusWorker) drain(ctx context.Context, ref object.Ref) {
	var world *status.World
	var made time.Time
	for ctx.Err() == nil {
		if world == nil || time.Since(made) >= statusFresh {
			world, made = w.world(), time.Now()
		}
		w.judge(ctx, world, ref)
		w.queue.Done(ref)
		if w.queue.Len() == 0 {
			return
		}
		ref, _ = w.queue.Get()
	}
}

// world returns everything that is known now. There is a snapshot: objects are only known once there is one.
func (w *statusWorker) world() *status.World {
	states := w.states() // first, so that the snapshot is not older
	w.mu.Lock()
	problems := w.problems
	w.mu.Unlock()
	return status.NewWorld(status.Facts{
		Facts: state.Facts{Snapshot: w.env.Pipeline.Latest(), Problems: problems, Now: feedback.Now()},
		Loops: states, Unread: w.unread, ClusterWide: w.clusterWide,
	})
}

// judge writes the status and the finalizers that an object should have. If that fails, it is retried after a while and not before: however
// often the object changes in the meantime, the API gets no more requests.
func (w *statusWorker) judge(ctx context.Context, world *status.World, ref object.Ref) {
	if w.retries[ref].After(time.Now()) {
		return
	}
	o := w.current(ref)
	if o == nil {
		delete(w.echoes, ref)
		w.settle(ref)
		return
	}
	err := w.write(ctx, world, ref, o)
	if errors.Is(err, errConflict) {
		if o, err = w.writer.Read(ctx, ref); err == nil && o != nil {
			err = w.write(ctx, world, ref, o)
		}
	}
	if err == nil || ctx.Err() != nil {
		w.settle(ref)
		w.forgetRefusals(ref.Kind)
		return
	}
	if w.backoff.NumRequeues(ref) == 0 {
		w.env.Log.WithError(err).WithField("object", ref.String()).Warn("cannot write the status, retrying")
	}
	pause := w.backoff.When(ref)
	w.retries[ref] = time.Now().Add(pause)
	w.queue.AddAfter(ref, pause)
}

// settle ends the retries of an object.
func (w *statusWorker) settle(ref object.Ref) {
	delete(w.retries, ref)
	w.backoff.Forget(ref)
}

// forgetRefusals drops what the API forbade for a kind, once no write of it has to be retried.
func (w *statusWorker) forgetRefusals(kind string) {
	for ref := range w.retries {
		if ref.Kind == kind {
			return
		}
	}
	plural := pluralOf(kind)
	w.writer.refused.Forget("get "+plural, "patch "+plural, "patch "+plural+"/status")
}

// write writes the verdict of the world on an object, if it differs from the object.
func (w *statusWorker) write(ctx context.Context, world *status.World, ref object.Ref, o status.Object) error {
	verdict, ok := world.Of(o)
	w.noteOpen(ref, !verdict.Settled)
	if !ok {
		return nil // nothing is known about it
	}
	echo, err := w.writer.Write(ctx, ref, o, &verdict, w.echoes[ref])
	if echo != nil {
		w.echoes[ref] = echo
	}
	return err
}

// current returns an object as it is now, as far as is known; nil if it was deleted.
func (w *statusWorker) current(ref object.Ref) status.Object {
	found, _ := w.env.Objects.Get(ref)
	o, ok := found.(status.Object)
	if !ok {
		return nil
	}
	if echo := w.echoes[ref]; echo.Outdates(o) {
		return echo.Object
	}
	delete(w.echoes, ref)
	return o
}
