package policy

import (
	"context"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/feedback/policy/report"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/inputs/confirm"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/reconcile"
)

// The rate limit for requests to an API: per second, and in a burst.
const (
	WriteRate  = 40
	WriteBurst = 80
)

const (
	gather       = 250 * time.Millisecond // what happens within it is one write
	sizeInterval = 10 * time.Second       // least time between two reports of how many pods and addresses sets have
	retryMin     = time.Second            // between two attempts to write
	retryMax     = 30 * time.Second       // permission may be granted at any time, without notice
	pendingPause = time.Second            // between two reads of targets that have not answered yet
)

// State is the part of netloom that a Controller reports on.
type State interface {
	// Latest returns the newest snapshot; nil before the first.
	Latest() *intent.Snapshot
	// Object returns an object of the source; false if there is none.
	Object(ref object.Ref) (runtime.Object, bool)
	// Policy returns a policy as last translated; false if there is none. Only Published calls it.
	Policy(ref object.Ref) (metav1.Object, bool)
	// Targets lists the targets as they are now.
	Targets() []Target
}

// Options configures what a Controller reports, and where.
type Options struct {
	State   State
	Cluster string // of the snapshot's origins
	Node    string // of this netloom, if each node has one; "" means the only one

	// ConfirmInterval is the time between two comparisons of the PolicyStatus objects read with those of the API; zero is
	// confirm.DefaultInterval.
	ConfirmInterval time.Duration

	Client  dynamic.Interface    // writes PolicyStatus objects and conditions of cluster-wide policies; nil writes none
	Events  record.EventRecorder // nil makes no Events
	Refused *feedback.Refusals   // of Events; nil records none
	Metrics *metrics.Metrics
	Log     logrus.FieldLogger
}

// Controller reports the state of policies and Services. Make it with New; a nil Controller reports nothing.
type Controller struct {
	*tracker
	opts    Options
	objects *objects    // nil writes no PolicyStatus
	cluster *conditions // of cluster-wide policies; nil writes none
	retries workqueue.TypedRateLimiter[object.Ref]

	// Only Run's goroutine uses these.
	began    time.Time
	reported map[object.Ref]*reported
	users    map[intent.SetID]map[object.Ref]bool
	later    map[object.Ref]time.Time // when the write of an object may be retried
	resize   map[object.Ref]bool      // policies whose sizes are reported the next time they are processed
	pause    time.Duration            // before the next attempt after an error that affects all; 0 without any
	world    *report.World            // nil if another one has to be made
	seen     uint64                   // the sequence before the world was made
	stood    []report.Target          // of the last world
}

// New makes a controller. It reports nothing before Run.
func New(opts Options) *Controller {
	c := &Controller{tracker: newTracker(opts.State, opts.Node != ""), opts: opts}
	if opts.Client != nil {
		c.objects = newObjects(opts.Client, opts.Node, opts.ConfirmInterval, opts.Metrics, c.tracker, opts.Log)
		c.cluster = &conditions{client: opts.Client, node: opts.Node, limit: c.objects.limit, metrics: opts.Metrics}
	}
	return c
}

// Observer returns an observer of the loops of targets.
func (c *Controller) Observer() reconcile.Observer { return rounds{of: c.tracker} }

// Degraded lists what is not reported, and why; a line for each reason.
func (c *Controller) Degraded() []string {
	if c == nil {
		return nil
	}
	lines := c.opts.Refused.Degraded()
	if c.objects != nil {
		lines = append(lines, c.objects.degraded()...)
		lines = append(lines, c.cluster.degraded()...)
	}
	return lines
}

// View tells how current the PolicyStatus objects read are known to be; nil while none are read, and before the first comparison is due.
func (c *Controller) View() *confirm.Kind {
	if c == nil || c.objects == nil {
		return nil
	}
	return c.objects.view()
}

// Run reports until ctx ends. It may be called again.
func (c *Controller) Run(ctx context.Context) error {
	if c == nil {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	if c.objects != nil {
		group.Go(func() error { return c.objects.Run(ctx) })
	}
	group.Go(func() error {
		c.work(ctx)
		return nil
	})
	return group.Wait()
}

// work processes objects until ctx ends.
func (c *Controller) work(ctx context.Context) {
	c.began, c.pause, c.world, c.stood = time.Now(), 0, nil, nil
	c.reported, c.users = map[object.Ref]*reported{}, map[intent.SetID]map[object.Ref]bool{}
	c.later, c.resize = map[object.Ref]time.Time{}, map[object.Ref]bool{}
	c.retries = workqueue.NewTypedItemExponentialFailureRateLimiter[object.Ref](retryMin, retryMax)
	q := c.begin()
	defer c.end()
	defer context.AfterFunc(ctx, q.ShutDown)()
	for c.next(ctx, q) {
	}
}

// next processes the next item of the queue; it returns false if ctx ended.
func (c *Controller) next(ctx context.Context, q *queue) bool {
	idle := q.Len() == 0
	ref, ended := q.Get()
	if ended {
		return false
	}
	defer q.Done(ref)
	if idle {
		if !feedback.Wait(ctx, gather) {
			return false
		}
		c.world = nil // it is outdated
	}
	if ref.Kind == lookAround {
		c.world = nil
	}
	world := c.await(ctx)
	if world == nil {
		return false
	}
	switch ref.Kind {
	case lookAround:
	case sizesDue:
		c.lookAtSizes()
	default:
		if err := c.judge(ctx, world, ref); err != nil {
			return c.retry(ctx, q, ref, err)
		}
	}
	return ctx.Err() == nil
}

// await returns the current world once objects can be judged in it; nil if ctx ended first.
func (c *Controller) await(ctx context.Context) *report.World {
	for ctx.Err() == nil {
		world := c.current()
		if world != nil && !world.Pending() && (c.objects == nil || c.objects.settled()) {
			return world
		}
		timer := time.NewTimer(pendingPause)
		select {
		case <-ctx.Done():
		case <-c.moved:
		case <-timer.C:
			c.world = nil // a target may be stale by now
		}
		timer.Stop()
	}
	return nil
}

// current returns the current world; nil before the first snapshot. If targets have changed in a way that affects all
// policies, all are queued.
func (c *Controller) current() *report.World {
	seen := c.sequence() // before anything is read: any later change makes the world outdated
	if c.world != nil && c.seen == seen {
		return c.world
	}
	c.world, c.seen = nil, seen
	targets := c.targets() // before the snapshot, so that it is not older
	snapshot := c.opts.State.Latest()
	if snapshot == nil {
		return nil
	}
	c.lookAtGaps(snapshot)
	if !slices.EqualFunc(c.stood, targets, func(a, b report.Target) bool {
		return a.Name == b.Name && a.Stale == b.Stale && slices.Equal(a.Skips, b.Skips)
	}) {
		c.stood = targets
		c.lookAll()
	}
	problems, staged, tried, nodes := c.facts()
	c.world = report.NewWorld(report.Facts{
		Facts:   state.Facts{Snapshot: snapshot, Problems: problems, Now: feedback.Now()},
		Targets: targets, Cluster: c.opts.Cluster, Nodes: nodes, Staged: staged, Tried: tried,
	})
	return c.world
}

// lookAtSizes queues the policies whose sets have changed members.
func (c *Controller) lookAtSizes() {
	for _, id := range c.takeSized() {
		for ref := range c.users[id] {
			c.resize[ref] = true
			c.look(ref)
		}
	}
}

// retry queues a write again after an error. An error that affects all objects delays all of them. It returns false if ctx
// ended.
func (c *Controller) retry(ctx context.Context, q *queue, ref object.Ref, err error) bool {
	all := concernsAll(err) && !object.IsClusterPolicy(ref.Kind) // they need permissions of their own
	if all && c.pause == 0 || !all && c.retries.NumRequeues(ref) == 0 {
		c.opts.Log.WithError(err).WithField("object", ref.String()).Warn("status of a policy cannot be written, trying again")
	}
	if !all {
		pause := c.retries.When(ref)
		c.later[ref] = time.Now().Add(pause)
		q.AddAfter(ref, pause)
		return true
	}
	c.pause = min(max(2*c.pause, retryMin), retryMax)
	q.Add(ref)
	return feedback.Wait(ctx, c.pause)
}
