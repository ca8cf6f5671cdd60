package daemon

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// work does all that writes: the loops of the targets, and what runs for SD-WAN. It returns once all of it has ended. It
// may be called again.
func (d *Daemon) work(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range d.targets {
		group.Go(func() error {
			t.awaitUp(ctx)
			return t.loop.Run(ctx)
		})
	}
	if d.sdwan != nil {
		d.sdwan.run(ctx, group)
	}
	<-ctx.Done()
	return group.Wait()
}

// startGrace is how long a loop waits for its target at the start before it begins to report that it cannot reach it.
const startGrace = 2 * time.Second

// awaitUp waits until the target can be reached, for a moment at the most.
func (t *running) awaitUp(ctx context.Context) {
	if t.Up == nil {
		return
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(startGrace)
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
