package bench

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

// paced is a target whose rounds take a time that depends on nothing. It records at which revisions it was.
type paced struct {
	takes time.Duration
	at    []intent.Revision
}

func (p *paced) Plan(_ context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	return &backends.Plan{Revision: want.Revision(), Full: since == 0, Ops: []backends.Op{{Verb: backends.Mutate, Kind: "row"}}}, nil
}

func (p *paced) Apply(_ context.Context, plan *backends.Plan) error {
	time.Sleep(p.takes) // of the bubble
	p.at = append(p.at, plan.Revision)
	return nil
}

func (p *paced) Close() error { return nil }

// spaced returns how many changes each round of a loop writes, if so many that do not depend on each other are made, so many a second on average.
func spaced(t *testing.T, changes, perSecond int) (together []int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		newest := intent.NewSnapshot()
		next := func() {
			mu.Lock()
			defer mu.Unlock()
			b := newest.Next()
			b.CreateSet(&intent.Set{ID: "a"})
			if newest.Set("a") != nil {
				b.DropSet("a")
			}
			newest = b.Commit()
		}
		next()
		target := &paced{takes: 2 * time.Millisecond}
		loop := reconcile.New(target, func() *intent.Snapshot { mu.Lock(); defer mu.Unlock(); return newest }, reconcile.Options{MaxDeleteFraction: 1})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- loop.Run(ctx) }()
		time.Sleep(time.Second) // of the bubble
		random := rand.New(rand.NewPCG(1, 2))
		for range changes {
			next()
			loop.Wake()
			time.Sleep(time.Duration(random.ExpFloat64() * float64(time.Second) / float64(perSecond))) // of the bubble
		}
		time.Sleep(time.Second) // of the bubble
		cancel()
		require.NoError(t, <-done)
		for i := 1; i < len(target.at); i++ {
			together = append(together, int(target.at[i]-target.at[i-1]))
		}
	})
	return together
}

// alone returns that each change is written alone.
func alone(changes int) []int {
	out := make([]int, changes)
	for i := range out {
		out[i] = 1
	}
	return out
}
