package daemon

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/reconcile"
)

// claiming is how it stands with the claim on a target.
type claiming struct {
	mu    sync.Mutex
	fault error                   // why the target is not claimed
	stop  context.CancelCauseFunc // stops the loop; nil while there is nothing to stop
}

func (c *claiming) set(fault error, stop context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault, c.stop = fault, stop
}

func (c *claiming) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// deposed stops the loop, once it is not in the middle of a round.
func (c *claiming) deposed(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop(why)
	}
}

// deposition stops the loop of a target which says that another instance has claimed it. Anything else is nothing to it.
type deposition struct {
	reconcile.Observers
	daemon *Daemon
}

// Failed stops the loop.
func (d deposition) Failed(target string, _ reconcile.Phase, err error) {
	if !errors.Is(err, backends.ErrDeposed) {
		return
	}
	for _, t := range d.daemon.targets {
		if t.Name == target {
			t.claim.deposed(err)
		}
	}
}

// tend keeps a target in step until ctx ends. Where instances are elected and the target can be held, it is claimed first;
// if somebody else claims it, then again, unless that was the next leader.
func (d *Daemon) tend(ctx context.Context, t *running) error {
	claimer, ok := t.Backend.(backends.Claimer)
	if !ok || d.election == nil {
		return t.loop.Run(ctx)
	}
	defer t.claim.set(nil, nil)
	for d.claim(ctx, t, claimer) {
		held, stop := context.WithCancelCause(ctx)
		t.claim.set(nil, stop)
		err := t.loop.Run(held)
		why := context.Cause(held)
		stop(nil)
		t.claim.set(why, nil)
		if err != nil || ctx.Err() != nil {
			return err
		}
		d.log.WithError(why).WithField("target", t.Name).Warn("another instance has claimed the target")
		if d.election.confirm(ctx) {
			wait(ctx, d.election.opts.LeaseDuration) // it does not go by this Lease, or had it and does not know
		}
	}
	return nil
}

// claim makes this instance the only one that may write to a target. It tries until it can; it is false when ctx ended
// first, or when this instance does not lead any more.
//
// That is asked for after the claim. Whoever leads from then on claims later, and so each write of this instance is refused
// that comes after that claim. Asked for before, this process could be stopped between answer and claim, and be the last to
// claim when it goes on.
func (d *Daemon) claim(ctx context.Context, t *running, claimer backends.Claimer) bool {
	least := cmp.Or(d.opts.Reconcile.RetryMin, reconcile.DefaultRetryMin)
	most := max(least, cmp.Or(d.opts.Reconcile.RetryMax, reconcile.DefaultRetryMax))
	log := d.log.WithField("target", t.Name)
	for pause := least; ctx.Err() == nil; pause = min(2*pause, most) {
		number, err := claimer.Claim(ctx, d.election.opts.Identity)
		if err == nil {
			log.WithField("claim", number).Info("target is claimed")
			return d.election.confirm(ctx)
		}
		if ctx.Err() != nil {
			break
		}
		t.claim.set(err, nil)
		d.observe.Failed(t.Name, reconcile.PhaseApply, err)
		log.WithError(err).Warn("target cannot be claimed, trying again")
		if t.Up == nil || t.Up() {
			wait(ctx, pause)
		} else {
			t.awaitUp(ctx, pause)
		}
	}
	return false
}
