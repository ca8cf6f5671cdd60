package election

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/reconcile"
)

// Target is what a fence needs to know about the target that it protects.
type Target struct {
	Name    string
	Claimer backends.Claimer

	Sync   func(ctx context.Context) error                  // keeps the target in sync until ctx ends
	Pause  func(ctx context.Context, longest time.Duration) // waits before the next attempt to claim
	Failed func(err error)                                  // reports an attempt to claim that failed

	RetryMin, RetryMax time.Duration // bounds of the pause: it doubles with each attempt
}

// Fence lets this instance write to a target only after it has claimed it, and stops it once another instance has. It has to
// be an observer of the loop of its target, and of no other. Make it with Election.Fence.
type Fence struct {
	reconcile.Observers // nil: no other event matters

	election *Election
	target   Target
	log      logrus.FieldLogger

	mu    sync.Mutex
	fault error                   // why the target is not claimed
	stop  context.CancelCauseFunc // stops the loop; nil while it does not run
}

// Fence makes the fence of a target.
func (e *Election) Fence(t Target) *Fence {
	return &Fence{election: e, target: t, log: e.log.WithField("target", t.Name)}
}

func (f *Fence) set(fault error, stop context.CancelCauseFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.stop = fault, stop
}

// Err returns why the target is not claimed. It is nil for a nil fence.
func (f *Fence) Err() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// Failed stops the loop if another instance has claimed the target, once the loop is not in the middle of a round.
func (f *Fence) Failed(_ string, _ reconcile.Phase, err error) {
	if !errors.Is(err, backends.ErrDeposed) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop != nil {
		f.stop(err)
	}
}

// Run claims the target and keeps it in sync until ctx ends. If another instance claims it, Run claims it again, unless that
// instance is the next leader.
func (f *Fence) Run(ctx context.Context) error {
	defer f.set(nil, nil)
	for f.claim(ctx) {
		claimed, stop := context.WithCancelCause(ctx)
		f.set(nil, stop)
		err := f.target.Sync(claimed)
		why := context.Cause(claimed)
		stop(nil)
		f.set(why, nil)
		if err != nil || ctx.Err() != nil {
			return err
		}
		f.log.WithError(why).Warn("another instance has claimed the target")
		if f.election.confirm(ctx) {
			pause(ctx, f.election.opts.LeaseDuration) // it does not use this Lease, or held it and does not know
		}
	}
	return nil
}

// claim makes this instance the only one that may write to the target. It retries until it succeeds; it returns false if ctx
// ended first, or if this instance no longer leads.
//
// Leadership is confirmed after the claim. An instance that leads from then on claims later, and so the target rejects each
// write of this instance that comes after that claim. If it were confirmed before, this process could be suspended between
// confirmation and claim, and be the last to claim when it resumes.
func (f *Fence) claim(ctx context.Context) bool {
	for wait := f.target.RetryMin; ctx.Err() == nil; wait = min(2*wait, f.target.RetryMax) {
		number, err := f.target.Claimer.Claim(ctx, f.election.opts.Identity)
		if err == nil {
			f.log.WithField("claim", number).Info("target claimed")
			return f.election.confirm(ctx)
		}
		if ctx.Err() != nil {
			break
		}
		f.set(err, nil)
		f.target.Failed(err)
		f.log.WithError(err).Warn("cannot claim the target, retrying")
		f.target.Pause(ctx, wait)
	}
	return false
}
