package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/netloom/netloom/pkg/metrics"
)

// What Leader does where its fields say nothing. They are what the components of Kubernetes take.
const (
	DefaultLeaseDuration = 15 * time.Second
	DefaultRenewDeadline = 10 * time.Second
	DefaultRetryPeriod   = 2 * time.Second
)

// Leader says how one of several instances is chosen to write. The others are standbys: they read everything and write
// nothing. The zero value chooses none, and the instance writes.
type Leader struct {
	Enabled bool

	Namespace string // of the Lease; "" is that of the pod
	Name      string // of the Lease; "" is the owner's, as netloom-leader
	Identity  string // of this instance in the Lease; "" is made of the pod's name

	LeaseDuration time.Duration // for how long a Lease is good that is not renewed; 0 is the default
	RenewDeadline time.Duration // for how long a leader goes on that cannot renew it; 0 is the default
	RetryPeriod   time.Duration // between two attempts to get or to renew it; 0 is the default

	// Leases holds the Lease. New makes one where it reads from an API.
	Leases coordinationv1.LeasesGetter
}

var (
	errNotRenewed = errors.New("the Lease could not be renewed in time")
	errReplaced   = errors.New("another instance has the Lease")
)

// election has this instance work while it is the leader, one term after the other.
type election struct {
	opts    Leader
	lease   *lease
	work    func(context.Context) error // ends soon after its context, and not before
	metrics *metrics.Metrics
	log     logrus.FieldLogger

	mu      sync.Mutex
	stop    context.CancelCauseFunc // ends the last term that has begun; nil before the first
	leading bool
}

// newElection makes the election that opts, which are complete, ask for.
func newElection(opts Leader, work func(context.Context) error, m *metrics.Metrics, log logrus.FieldLogger) *election {
	e := &election{opts: opts, work: work, metrics: m, log: log.WithFields(logrus.Fields{
		"lease": opts.Namespace + "/" + opts.Name, "identity": opts.Identity,
	})}
	e.lease = newLease(&resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: opts.Namespace, Name: opts.Name},
		Client:     opts.Leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: opts.Identity},
	}, e.seen, e.told)
	m.Leading(false)
	return e
}

// Run stands for election until ctx ends, and works as long as this instance leads.
func (e *election) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := e.stand(ctx)
		e.release(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// stand waits to be elected, and then works until the term is over. The Lease is kept for as long as the work takes to end:
// only then may the next leader begin.
func (e *election) stand(ctx context.Context) error {
	elected := make(chan struct{}, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: e.lease, Name: e.opts.Name,
		LeaseDuration: e.opts.LeaseDuration, RenewDeadline: e.opts.RenewDeadline, RetryPeriod: e.opts.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { elected <- struct{}{} },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	// It outlives ctx. What it would log in a form of its own is told by the log of the daemon.
	standing, resign := context.WithCancel(logr.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	over := make(chan struct{})
	go func() {
		defer close(over)
		elector.Run(standing)
	}()
	select {
	case <-ctx.Done():
	case <-elected:
		err = e.serve(ctx, over)
	}
	resign()
	<-over
	return err
}

// serve is one term. It is over when ctx ends or when the Lease is lost.
func (e *election) serve(ctx context.Context, over <-chan struct{}) error {
	ctx, stop := context.WithCancelCause(ctx)
	e.begin(stop)
	var watch sync.WaitGroup
	watch.Go(func() { stop(e.lease.untilLost(ctx, over, e.opts.RenewDeadline)) })
	err := e.work(ctx)
	why := context.Cause(ctx)
	stop(nil)
	watch.Wait()
	e.end(why)
	return err
}

func (e *election) begin(stop context.CancelCauseFunc) {
	e.mu.Lock()
	e.stop, e.leading = stop, true
	e.mu.Unlock()
	e.metrics.Leading(true)
	e.log.Info("this instance leads")
}

func (e *election) end(why error) {
	e.mu.Lock()
	e.leading = false
	e.mu.Unlock()
	e.metrics.Leading(false)
	if why == nil || errors.Is(why, context.Canceled) {
		e.log.Info("this instance leads no more")
		return
	}
	e.log.WithError(why).Warn("this instance leads no more")
}

// confirm asks the API server whether the Lease is this instance's now, until it is answered. If it is not, the term ends. It
// is false then, and where ctx ended first.
func (e *election) confirm(ctx context.Context) bool {
	for ctx.Err() == nil {
		holder, err := holderOf(ctx, e.opts.Leases.Leases(e.opts.Namespace), e.opts.Name)
		switch {
		case err != nil:
			e.log.WithError(err).Warn("the Lease cannot be read, trying again")
			wait(ctx, e.opts.RetryPeriod)
		case holder != e.opts.Identity:
			e.mu.Lock()
			e.stop(errReplaced)
			e.mu.Unlock()
			return false
		default:
			return true
		}
	}
	return false
}

// releaseTimeout is how long giving up the Lease may take. It falls to the next leader without, if later.
const releaseTimeout = 3 * time.Second

// release gives up the Lease, if this instance has it.
func (e *election) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := e.lease.release(ctx); err != nil {
		e.log.WithError(err).Warn("the Lease cannot be given up; it runs out")
	}
}

// seen is told of each new holder of the Lease.
func (e *election) seen(holder string) {
	if holder == "" {
		return
	}
	e.metrics.LeaderChanged()
	if holder != e.opts.Identity {
		e.log.WithField("leader", holder).Info("another instance leads")
	}
}

// told is told of what goes wrong with the Lease, once until it goes well.
func (e *election) told(trouble error) {
	e.log.WithError(trouble).Warn("the Lease cannot be read or written, trying again")
}

// Leading says whether this instance leads.
func (e *election) Leading() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leading
}

// standby says of an instance that does not lead who does. It fails where this instance is not fit to take over, or nobody
// has been seen to lead yet. One that had to stop because the API does not answer is fit.
func (e *election) standby() (string, error) {
	holder, trouble := e.lease.state()
	e.mu.Lock()
	led := e.stop != nil
	e.mu.Unlock()
	line, fit := "standby: "+holder+" leads", true
	switch holder {
	case "":
		line, fit = "standby: nobody leads", false
	case e.opts.Identity:
		line, fit = "standby: nobody leads", led
	}
	if trouble != nil {
		line += ": " + trouble.Error()
	}
	if !fit || apierrors.IsForbidden(trouble) {
		return "", errors.New(line)
	}
	return line, nil
}

// withDefaults fills in what the zero value leaves open.
func (o Leader) withDefaults(owner string) Leader {
	o.Name = cmp.Or(o.Name, owner+"-leader")
	o.LeaseDuration = cmp.Or(o.LeaseDuration, DefaultLeaseDuration)
	o.RenewDeadline = cmp.Or(o.RenewDeadline, DefaultRenewDeadline)
	o.RetryPeriod = cmp.Or(o.RetryPeriod, DefaultRetryPeriod)
	return o
}
