package daemon

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/election"
	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/reconcile"
)

// elect makes the election, if the options select one.
func (d *Daemon) elect() error {
	if !d.opts.Leader.Enabled {
		return nil
	}
	opts, err := d.opts.Leader.Complete(d.opts.Target.Owner, d.clients.rest())
	if err != nil {
		return err
	}
	d.election = election.New(opts, d.term, d.metrics, d.log)
	return nil
}

// wentBack makes an Event of the Lease that the API went back to an older state, if this instance leads and makes Events.
func (d *Daemon) wentBack(why string) {
	if d.election == nil || !d.election.Leading() {
		return
	}
	for _, events := range []record.EventRecorder{d.opts.Feedback.Recorder, d.opts.SDWAN.Events} {
		if events != nil {
			events.Event(d.election.Lease(), corev1.EventTypeWarning, "APIWentBack",
				why+": all objects are read again, and policies that it no longer has stay in force until netloom approve removes them")
			return
		}
	}
}

// write does everything that writes while this instance leads, or always if there is no election.
func (d *Daemon) write(ctx context.Context) error {
	if d.election == nil {
		return d.work(ctx)
	}
	return d.election.Run(ctx)
}

// term does the work of a leader until ctx ends. Only an early term is forced: a standby that leads much later, after
// another instance has gone, must not use it.
func (d *Daemon) term(ctx context.Context, early bool) error {
	for _, t := range d.targets {
		d.metrics.Target(t.Name)
		if d.opts.Force && early {
			t.loop.Force()
		}
	}
	defer func() {
		for _, t := range d.targets {
			d.metrics.Rest(t.Name)
			d.coverage.Forget(t.Name)
		}
		d.reportKept()
	}()
	return d.work(ctx)
}

// work runs everything that writes: the loops of the targets, the SD-WAN controller, and the reports on policies. It
// returns once all of it has ended. It may be called again.
func (d *Daemon) work(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range d.targets {
		group.Go(func() error {
			t.awaitUp(ctx, startGrace)
			if t.fence != nil {
				return t.fence.Run(ctx)
			}
			return t.loop.Run(ctx)
		})
	}
	if d.sdwan != nil {
		group.Go(func() error { return d.sdwan.Run(ctx) })
	}
	group.Go(func() error { return d.policies.Run(ctx) })
	group.Go(func() error { return d.ready.Run(ctx) })
	<-ctx.Done()
	return group.Wait()
}

// fence makes the fence of a target that can be claimed, if there is an election; nil otherwise.
func (d *Daemon) fence(t *running) *election.Fence {
	claimer, ok := t.Backend.(backends.Claimer)
	if !ok || d.election == nil {
		return nil
	}
	least := cmp.Or(d.opts.Reconcile.RetryMin, reconcile.DefaultRetryMin)
	return d.election.Fence(election.Target{
		Name: t.Name, Claimer: claimer, Pause: t.pause,
		Sync:     func(ctx context.Context) error { return t.loop.Run(ctx) },
		Failed:   func(err error) { d.observe.Failed(t.Name, reconcile.PhaseApply, err) },
		RetryMin: least, RetryMax: max(least, cmp.Or(d.opts.Reconcile.RetryMax, reconcile.DefaultRetryMax)),
	})
}

// leadership reports which instance writes, and what is missing until this one is ready: its targets have to be in sync if
// it writes, and another instance has to lead if it does not.
func (d *Daemon) leadership() (lines, missing []string) {
	if d.election != nil && !d.election.Leading() {
		line, err := d.election.Standby()
		if err != nil {
			return nil, []string{err.Error()}
		}
		return []string{line}, nil
	}
	for _, t := range d.targets {
		s, unclaimed := t.loop.Status(), t.fence.Err()
		if s.Synced() && unclaimed == nil {
			continue
		}
		line := "target " + t.Name + " is not in sync yet"
		if err := cmp.Or(unclaimed, s.Err); err != nil {
			line += ": " + err.Error()
		}
		missing = append(missing, line)
	}
	return nil, missing
}

// startGrace is how long a loop waits for its target at the start before it reports that the target cannot be reached.
const startGrace = 2 * time.Second

// awaitUp waits until the target can be reached, at most this long.
func (t *running) awaitUp(ctx context.Context, longest time.Duration) {
	if t.Up == nil {
		return
	}
	tick := time.NewTicker(max(5*time.Millisecond, longest/400))
	defer tick.Stop()
	limit := time.After(longest)
	for !t.Up() {
		select {
		case <-ctx.Done():
			return
		case <-limit:
			return
		case <-tick.C:
		}
	}
}

// pause waits this long, or if the target cannot be reached, only until it can be.
func (t *running) pause(ctx context.Context, longest time.Duration) {
	if t.Up == nil || t.Up() {
		feedback.Wait(ctx, longest)
	} else {
		t.awaitUp(ctx, longest)
	}
}
