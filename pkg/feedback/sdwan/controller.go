package sdwan

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/translator"
)

// Pipeline is what the controller needs from the pipeline that makes snapshots.
type Pipeline interface {
	// Latest returns the newest snapshot, nil until the source has synced.
	Latest() *intent.Snapshot
	// Do arranges for f to be called with the translator, and for a snapshot of the result. It does not wait for that.
	Do(f func(*translator.Translator))
}

// Objects are the objects of the source, as they are now.
type Objects interface {
	Get(ref object.Ref) (runtime.Object, bool)
}

// Environment is what the controller is part of.
type Environment struct {
	Pipeline Pipeline
	Objects  Objects
	Metrics  *metrics.Metrics
	Observer reconcile.Observer // of the loop of every device
	Loops    reconcile.Options  // of the loop of every device; target, interval and observer are filled in
	Owner    string             // mark on everything that is written
	// Resolved reports whether the snapshots have the answers of DNS: nothing is written to CNFs before.
	Resolved func() bool
	// KeptChanged is called when a loop that may have kept something has ended.
	KeptChanged func()
	Log         logrus.FieldLogger
}

// Controller configures CNFs and reports on SD-WAN objects. Make it with New.
type Controller struct {
	fleet    *fleet
	statuses *statuses // nil if no status is written
	reports  *reports  // nil if no reports are collected
	log      logrus.FieldLogger
	problems []object.Problem // as of the last snapshot, if no status is written: they are logged; only the goroutine of the pipeline uses it
}

// New makes a controller. Published has to be called for each snapshot, and Run to do its work.
func New(opts Options, env Environment) *Controller {
	opts = opts.withDefaults()
	c := &Controller{log: env.Log}
	c.fleet = newFleet(opts, env)
	c.fleet.latest = func() *intent.Snapshot {
		if !env.Resolved() {
			return nil
		}
		return env.Pipeline.Latest()
	}
	var w *writer
	if opts.Dynamic != nil {
		w = newWriter(opts, env.Metrics)
		c.statuses = newStatuses(opts, env, w, c.fleet)
		c.fleet.changed = c.statuses.Changed
	}
	if opts.Events != nil {
		c.fleet.drifted = func(of *intent.CNF, ops int) { recordDrift(opts.Events, of, ops) }
	}
	if opts.StatusInterval > 0 {
		c.reports = newReports(opts, env, w, c.fleet.Reporters)
	}
	return c
}

// Published takes in a new snapshot. The goroutine of the pipeline calls it.
func (c *Controller) Published(p *pipeline.Published) {
	if c.reports != nil {
		c.reports.Published(p.Events)
	}
	if c.statuses != nil {
		c.statuses.Published(p)
	} else {
		logProblems(c.log, c.problems, p.Problems)
		c.problems = p.Problems
	}
	c.fleet.Wake()
}

// Run writes until ctx ends, and returns once everything that writes has ended. It may be called again.
func (c *Controller) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.fleet.Run(ctx) })
	if c.statuses != nil {
		group.Go(func() error { return c.statuses.Run(ctx) })
	}
	if c.reports != nil {
		group.Go(func() error { return c.reports.Run(ctx) })
	}
	return group.Wait()
}

// recordDrift records an Event of the pod of a CNF.
func recordDrift(events record.EventRecorder, of *intent.CNF, ops int) {
	pod := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: of.Origin.Namespace, Name: of.Origin.Name,
	}
	events.Event(pod, corev1.EventTypeWarning, "DriftRepaired",
		fmt.Sprintf("the configuration was changed by someone else; %d operations repaired it", ops))
}
