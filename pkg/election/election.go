package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var (
	errNotRenewed = errors.New("the Lease could not be renewed in time")
	errReplaced   = errors.New("another instance holds the Lease")
)

// Term is the work of one term. It returns soon after its context ends, and not before. early is true for a first term that
// began shortly after the instance was made.
type Term func(ctx context.Context, early bool) error

// earlyGrace is how long after an instance was made its first term is early.
const earlyGrace = 5 * time.Minute

// Record receives the events of an election, for metrics.
type Record interface {
	Leading(now bool) // whether this instance leads
	LeaderChanged()   // another one holds the Lease, or this one
}

// Election runs the work of an instance while it leads, one term after the other. Make it with New.
type Election struct {
	opts   Options
	lease  *lease
	term   Term
	record Record
	log    logrus.FieldLogger
	made   time.Time

	mu      sync.Mutex
	stop    context.CancelCauseFunc // ends the latest term; nil before the first
	leading bool
}

// New makes the election that opts describe; they have to be complete.
func New(opts Options, term Term, record Record, log logrus.FieldLogger) *Election {
	e := &Election{
		opts: opts, term: term, record: record, made: time.Now(),
		log: log.WithFields(logrus.Fields{"lease": opts.Namespace + "/" + opts.Name, "identity": opts.Identity}),
	}
	e.lease = newLease(&resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: opts.Namespace, Name: opts.Name},
		Client:     opts.Leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: opts.Identity},
	}, e.heldBy, e.leaseFailed)
	record.Leading(false)
	return e
}

// Lease is the Lease that instances compete for.
func (e *Election) Lease() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease", Namespace: e.opts.Namespace, Name: e.opts.Name,
	}
}

// Run takes part in the election until ctx ends, and runs a term whenever this instance leads.
func (e *Election) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := e.candidate(ctx)
		e.release(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// candidate waits to be elected and then runs one term. The Lease is kept until the term has ended: only then may the next
// leader begin.
func (e *Election) candidate(ctx context.Context) error {
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
	// The elector outlives ctx. Its own log is discarded: leaseFailed logs the same.
	electing, resign := context.WithCancel(logr.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	over := make(chan struct{})
	go func() {
		defer close(over)
		elector.Run(electing)
	}()
	select {
	case <-ctx.Done():
	case <-elected:
		err = e.runTerm(ctx, over)
	}
	resign()
	<-over
	return err
}

// runTerm runs one term, which ends when ctx ends or the Lease is lost.
func (e *Election) runTerm(ctx context.Context, over <-chan struct{}) error {
	ctx, stop := context.WithCancelCause(ctx)
	early := e.begin(stop)
	var watch sync.WaitGroup
	watch.Go(func() { stop(e.lease.untilLost(ctx, over, e.opts.RenewDeadline)) })
	err := e.term(ctx, early)
	why := context.Cause(ctx)
	stop(nil)
	watch.Wait()
	e.end(why)
	return err
}

// begin records that a term begins, and reports whether it is early.
func (e *Election) begin(stop context.CancelCauseFunc) bool {
	e.mu.Lock()
	early := e.stop == nil && time.Since(e.made) <= earlyGrace
	e.stop, e.leading = stop, true
	e.mu.Unlock()
	e.record.Leading(true)
	e.log.Info("this instance is now the leader")
	return early
}

func (e *Election) end(why error) {
	e.mu.Lock()
	e.leading = false
	e.mu.Unlock()
	e.record.Leading(false)
	if why == nil || errors.Is(why, context.Canceled) {
		e.log.Info("this instance is no longer the leader")
		return
	}
	e.log.WithError(why).Warn("this instance is no longer the leader")
}

// confirm reads from the API server whether this instance holds the Lease now, and repeats the request until it is
// answered. If another instance holds it, the term ends. It returns false then, and if ctx ended first.
func (e *Election) confirm(ctx context.Context) bool {
	for ctx.Err() == nil {
		holder, err := holderOf(ctx, e.opts.Leases.Leases(e.opts.Namespace), e.opts.Name)
		switch {
		case err != nil:
			e.log.WithError(err).Warn("cannot read the Lease, retrying")
			pause(ctx, e.opts.RetryPeriod)
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

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// releaseTimeout is how long releasing the Lease may take. If it fails, the Lease expires.
const releaseTimeout = 3 * time.Second

// release releases the Lease if this instance holds it.
func (e *Election) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := e.lease.release(ctx); err != nil {
		e.log.WithError(err).Warn("cannot release the Lease; it has to expire")
	}
}

// heldBy records a new holder of the Lease; "" means none.
func (e *Election) heldBy(holder string) {
	if holder == "" {
		return
	}
	e.record.LeaderChanged()
	if holder != e.opts.Identity {
		e.log.WithField("leader", holder).Info("another instance is the leader")
	}
}

// leaseFailed logs a fault of the Lease. It is called once per fault.
func (e *Election) leaseFailed(fault error) {
	e.log.WithError(fault).Warn("cannot read or write the Lease, retrying")
}

// Leading reports whether this instance leads.
func (e *Election) Leading() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leading
}

// Standby returns the name of the leader, for an instance that does not lead. It fails if this instance could not take
// over, or no leader has been seen yet. An instance that stopped because the API does not answer could take over.
func (e *Election) Standby() (string, error) {
	holder, fault := e.lease.state()
	e.mu.Lock()
	led := e.stop != nil
	e.mu.Unlock()
	line, fit := "standby: "+holder+" leads", true
	switch holder {
	case "":
		line, fit = "standby: no instance leads", false
	case e.opts.Identity:
		line, fit = "standby: no instance leads", led
	}
	if fault != nil {
		line += ": " + fault.Error()
	}
	if !fit || apierrors.IsForbidden(fault) {
		return "", errors.New(line)
	}
	return line, nil
}
