package daemon

import (
	"cmp"
	"context"
	"sync"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/reconcile"
)

// lead works while this instance leads, or always where nobody is elected.
func (d *Daemon) lead(ctx context.Context) error {
	if d.election == nil {
		return d.work(ctx)
	}
	return d.election.Run(ctx)
}

// term does the work of a leader until ctx ends. A target that cannot be claimed yet keeps nothing else from working.
func (d *Daemon) term(ctx context.Context) error {
	for _, t := range d.targets {
		d.metrics.Target(t.Name)
	}
	defer func() {
		for _, t := range d.targets {
			d.metrics.Rest(t.Name)
		}
	}()
	return d.work(ctx)
}

// trouble is why a target could not be claimed.
type trouble struct {
	mu  sync.Mutex
	err error
}

func (t *trouble) set(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

func (t *trouble) get() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// claim makes this instance the only one that may write to a target, if the target can be held and instances are elected.
// It tries until it can; it is false when ctx ended first.
func (d *Daemon) claim(ctx context.Context, t *running) bool {
	claimer, ok := t.Backend.(backends.Claimer)
	if !ok || d.election == nil {
		return true
	}
	defer t.claiming.set(nil)
	log := d.log.WithField("target", t.Name)
	least := cmp.Or(d.opts.Reconcile.RetryMin, reconcile.DefaultRetryMin)
	most := max(least, cmp.Or(d.opts.Reconcile.RetryMax, reconcile.DefaultRetryMax))
	for pause := least; ; pause = min(2*pause, most) {
		number, err := claimer.Claim(ctx, d.election.opts.Identity)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			log.WithField("claim", number).Info("target is claimed")
			return true
		}
		t.claiming.set(err)
		d.observe.Failed(t.Name, reconcile.PhaseApply, err)
		log.WithError(err).Warn("target cannot be claimed, trying again")
		if t.Up == nil || t.Up() {
			wait(ctx, pause)
		} else {
			t.awaitUp(ctx, pause)
		}
	}
}

// duty says what there is to tell of what this instance has to do, and what of it is not done yet: targets have to agree if
// it writes, and somebody else has to lead if it does not.
func (d *Daemon) duty() (told, lacking []string) {
	if d.election != nil && !d.election.Leading() {
		line, err := d.election.standby()
		if err != nil {
			return nil, []string{err.Error()}
		}
		return []string{line}, nil
	}
	for _, t := range d.targets {
		s := t.loop.Status()
		if s.Synced() {
			continue
		}
		line := "target " + t.Name + " does not agree yet"
		if err := cmp.Or(t.claiming.get(), s.Err); err != nil {
			line += ": " + err.Error()
		}
		lacking = append(lacking, line)
	}
	return nil, lacking
}
