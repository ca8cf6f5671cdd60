package readiness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/cause"
	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/feedback/policy"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/reconcile"
)

// The rate limit for requests to an API: per second, and in a burst.
const (
	WriteRate  = 100
	WriteBurst = 200
)

const (
	gather    = 100 * time.Millisecond // between two rounds: what happens meanwhile is one round
	pollPause = 200 * time.Millisecond // between two questions of what is installed
	markPause = 500 * time.Millisecond // least time between two marks, each of which every chassis answers
	lookPause = 5 * time.Second        // between two rounds while some pod is waiting or open
	slowAfter = 30 * time.Second       // how long an installation takes before it is reported
	retryMin  = time.Second            // between two attempts to write
	retryMax  = 30 * time.Second       // permission may be granted at any time, without notice
	writers   = 8                      // writes at the same time
)

// State is the part of netloom that pods depend on.
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

// Target is a target that has to have the rows of pods in force.
type Target struct {
	policy.Target
	Marker backends.Marker // reports what is installed; nil if only what is written can be known
}

// Options configures which pods a Controller looks after.
type Options struct {
	State   State
	Gate    corev1.PodConditionType // the gate, and the type of the condition
	Cluster string                  // of the keys of endpoints
	Node    string                  // only its pods, if each node has a netloom; "" means all

	// Grace is how long a pod has to be known to be unprotected before its condition becomes False, and how long a pod with an address waits
	// before the reason is written to it. Zero never does either.
	Grace time.Duration
	// MaxFraction is the largest share of the pods with the gate whose conditions may be False at once because they are unprotected, 0 to 1.
	MaxFraction float64

	Client  metadata.Interface // writes conditions; nil writes none, and reports pods with the gate
	Metrics *metrics.Metrics
	Log     logrus.FieldLogger
}

// Controller sets conditions. Make it with New; nil does nothing.
type Controller struct {
	opts    Options
	refused feedback.Refusals
	wake    chan struct{} // of size 1

	mu          sync.Mutex
	pods        map[object.Key]*pod        // that have the gate and are not finished
	waiting     map[object.Key]*pod        // those of them whose condition is not True
	open        map[object.Key]*pod        // those whose condition is True although a target is known to lack them
	generations map[object.Ref]int64       // of the policies, as last translated
	reached     map[string]intent.Revision // by target: the last round that was reported to the observer
	installing  map[string]installing      // by target
	spared      int                        // pods that stay ready although they are unprotected
	leads       bool                       // Run runs
	fault       error                      // why nothing can be written; nil if it can
	retry       time.Time                  // when the next write may be tried, after a fault
	pause       time.Duration              // until then; 0 without a fault

	began time.Time // the term; only Run's goroutine uses it
}

// New makes a controller. It writes nothing before Run.
func New(opts Options) *Controller {
	c := &Controller{
		opts: opts, wake: make(chan struct{}, 1), pods: map[object.Key]*pod{}, waiting: map[object.Key]*pod{}, open: map[object.Key]*pod{},
		generations: map[object.Ref]int64{}, reached: map[string]intent.Revision{}, installing: map[string]installing{},
	}
	opts.Metrics.Readiness(c.counts)
	return c
}

// Observer returns an observer of the loops of targets. It has to be called after the one of their coverage.
func (c *Controller) Observer() reconcile.Observer { return rounds{of: c} }

// Run sets conditions until ctx ends. It may be called again.
func (c *Controller) Run(ctx context.Context) error {
	if c == nil || c.opts.Client == nil {
		return nil
	}
	c.begin()
	defer c.end()
	for {
		due := c.round(ctx)
		if !feedback.Wait(ctx, gather) || !c.rest(ctx, due) {
			return nil
		}
	}
}

// rest waits until something happens, or for due if that is not 0; it returns false if ctx ended first.
func (c *Controller) rest(ctx context.Context, due time.Duration) bool {
	var after <-chan time.Time
	if due > 0 {
		timer := time.NewTimer(due)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-c.wake:
	case <-after:
	}
	return true
}

// begin starts a term. What is known about targets is dropped: another instance may have written to them since.
func (c *Controller) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began, c.leads, c.spared = time.Now(), true, 0
	c.fault, c.retry, c.pause = nil, time.Time{}, 0
	clear(c.installing)
	clear(c.open)
	for _, p := range c.pods {
		p.forget()
	}
}

func (c *Controller) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leads, c.spared = false, 0
	clear(c.installing)
}

// ring wakes Run.
func (c *Controller) ring() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// counts counts the pods with the gate by their state.
func (c *Controller) counts() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return map[string]int{"ready": len(c.pods) - len(c.waiting), "waiting": len(c.waiting), "unprotected": len(c.open)}
}

// Degraded lists what pods wait for without an end, and why conditions are not written; a line for each reason, without names of pods.
func (c *Controller) Degraded() []string {
	if c == nil {
		return nil
	}
	lines := c.refused.Degraded()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opts.Client == nil && len(c.waiting) > 0 {
		return []string{fmt.Sprintf("degraded: %d pods have the readiness gate %s and cannot become ready: readiness is switched off", len(c.waiting), c.opts.Gate)}
	}
	if !c.leads {
		return nil
	}
	if c.fault != nil && len(lines) == 0 {
		lines = append(lines, fmt.Sprintf("degraded: the condition %s of pods cannot be written: %s", c.opts.Gate, cause.Plain(c.fault)))
	}
	if c.spared > 0 {
		lines = append(lines, fmt.Sprintf("degraded: %d of %d pods with the readiness gate %s are unprotected and stay ready: more than max-delete-fraction at once",
			c.spared, len(c.pods), c.opts.Gate))
	}
	return append(lines, c.slow()...)
}
