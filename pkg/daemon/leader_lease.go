package daemon

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

// lease is the Lease as an elector sees it, and knows what became of it. No clock but this machine's own is asked: it counts
// from when a request was sent, and what others write into the record as times is not looked at.
type lease struct {
	resourcelock.Interface
	// Both must not ask back.
	seen func(holder string) // told of each new holder
	tell func(trouble error) // told of trouble that is another than before

	changed chan struct{} // of size 1: the next fields may have

	mu      sync.Mutex
	holder  string    // when last read or written; "" is nobody
	renewed time.Time // when the last request was sent that made the Lease ours or kept it
	trouble error     // of the last request; nil when it was answered
}

func newLease(lock resourcelock.Interface, seen func(string), tell func(error)) *lease {
	return &lease{Interface: lock, seen: seen, tell: tell, changed: make(chan struct{}, 1)}
}

// Get reads the record.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.note(record, time.Time{}, err)
	return record, raw, err
}

// Create makes the Lease, with a record that says who holds it.
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

// note takes in what came of a request. The time is zero for one that reads.
func (l *lease) note(record *resourcelock.LeaderElectionRecord, sent time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.trouble
	l.trouble = nil
	switch {
	case err == nil:
		if l.holder != record.HolderIdentity {
			l.holder = record.HolderIdentity
			l.seen(l.holder)
		}
		if !sent.IsZero() && l.holder == l.Identity() {
			l.renewed = sent
		}
	case apierrors.IsNotFound(err) && sent.IsZero(): // it is made next
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // somebody was quicker
	default:
		if l.trouble = err; before == nil || before.Error() != err.Error() {
			l.tell(err)
		}
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// state tells who holds the Lease, as far as is known, and what is wrong with it.
func (l *lease) state() (holder string, trouble error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder, l.trouble
}

// untilLost waits until the Lease is somebody else's or may soon be, and says so; nil where ctx ended first.
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

// holderOf reads who holds a Lease. Unlike the methods of lease, which an elector calls, it may be called at any time.
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

// release gives the Lease up if it is ours.
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
