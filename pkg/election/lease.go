package election

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lease is the Lease as an elector sees it, and records what happened to it. Only the clock of this machine counts: times
// are taken when a request is sent, and those that others wrote into the record are ignored.
type lease struct {
	resourcelock.Interface
	// Neither may call back.
	heldBy func(holder string) // called for each new holder
	failed func(fault error)   // called for each fault that differs from the one before

	changed chan struct{} // of size 1: the next fields may have changed

	mu      sync.Mutex
	holder  string    // when last read or written; "" means none
	renewed time.Time // when the last request was sent that acquired or renewed the Lease
	fault   error     // of the last request; nil if it was answered
}

func newLease(lock resourcelock.Interface, heldBy func(string), failed func(error)) *lease {
	return &lease{Interface: lock, heldBy: heldBy, failed: failed, changed: make(chan struct{}, 1)}
}

// Get reads the record.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.note(record, time.Time{}, err)
	return record, raw, err
}

// Create creates the Lease, with a record of its holder.
func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	err := l.Interface.Create(ctx, record)
	l.note(&record, sent, err)
	return err
}

// Update writes the record, unless it has changed since it was read.
func (l *lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	err := l.Interface.Update(ctx, record)
	l.note(&record, sent, err)
	return err
}

// note records the result of a request. The time is zero for a read.
func (l *lease) note(record *resourcelock.LeaderElectionRecord, sent time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.fault
	l.fault = nil
	switch {
	case err == nil:
		if l.holder != record.HolderIdentity {
			l.holder = record.HolderIdentity
			l.heldBy(l.holder)
		}
		if !sent.IsZero() && l.holder == l.Identity() {
			l.renewed = sent
		}
	case apierrors.IsNotFound(err) && sent.IsZero(): // it is created next
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // another instance was faster
	default:
		if l.fault = err; before == nil || before.Error() != err.Error() {
			l.failed(err)
		}
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// state returns the last known holder of the Lease, and the fault of the last request.
func (l *lease) state() (holder string, fault error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder, l.fault
}

// untilLost waits until another instance holds the Lease or may soon hold it, and returns which of the two; nil if ctx
// ended first.
func (l *lease) untilLost(ctx context.Context, over <-chan struct{}, deadline time.Duration) error {
	for {
		l.mu.Lock()
		holder, left := l.holder, time.Until(l.renewed.Add(deadline))
		l.mu.Unlock()
		switch {
		case holder != l.Identity():
			return errReplaced
		case left <= 0:
			return errNotRenewed
		}
		select {
		case <-ctx.Done():
			return nil
		case <-over:
			return errNotRenewed
		case <-l.changed:
		case <-time.After(left):
		}
	}
}

// holderOf returns the holder of a Lease. Unlike the methods of lease, which an elector calls, it may be called at any
// time.
func holderOf(ctx context.Context, leases coordinationv1.LeaseInterface, name string) (string, error) {
	got, err := leases.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && got.Spec.HolderIdentity == nil:
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the Lease: %w", err)
	}
	return *got.Spec.HolderIdentity, nil
}

// release releases the Lease if this instance holds it.
func (l *lease) release(ctx context.Context) error {
	if holder, _ := l.state(); holder != l.Identity() {
		return nil
	}
	record, _, err := l.Get(ctx)
	switch {
	case apierrors.IsNotFound(err), err == nil && record.HolderIdentity != l.Identity():
		return nil
	case err != nil:
		return fmt.Errorf("read the Lease: %w", err)
	}
	now := metav1.Now()
	err = l.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now, LeaderTransitions: record.LeaderTransitions,
	})
	if err != nil {
		return fmt.Errorf("write the Lease: %w", err)
	}
	return nil
}
