package daemon

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// work does all that writes: the loops of the targets, what runs for SD-WAN, and what tells people of policies. It returns
// once all of it has ended. It may be called again.
func (d *Daemon) work(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range d.targets {
		group.Go(func() error {
			t.awaitUp(ctx, startGrace)
			return d.tend(ctx, t)
		})
	}
	if d.sdwan != nil {
		d.sdwan.run(ctx, group)
	}
	d.feedback.run(ctx, group)
	<-ctx.Done()
	return group.Wait()
}

// startGrace is how long a loop waits for its target at the start before it begins to report that it cannot reach it.
const startGrace = 2 * time.Second

// awaitUp waits until the target can be reached, for so long at the most.
func (t *running) awaitUp(ctx context.Context, most time.Duration) {
	if t.Up == nil {
		return
	}
	tick := time.NewTicker(max(5*time.Millisecond, most/400))
	defer tick.Stop()
	limit := time.After(most)
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
