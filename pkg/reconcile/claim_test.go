package reconcile_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/memory"
	"github.com/netloom/netloom/pkg/reconcile"
)

// listener collects the errors that it observes.
type listener struct {
	diary
	mu   sync.Mutex
	errs []error
}

func (l *listener) Failed(_ string, phase reconcile.Phase, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if phase == reconcile.PhaseApply {
		l.errs = append(l.errs, err)
	}
}

// TestADeposedLoopReportsItAndBacksOff takes the target away from a loop that is busy, and gives it back.
func TestADeposedLoopReportsItAndBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := memory.NewTarget()
		mine, other := memory.New(target, "a"), memory.New(target, "a")
		_, err := mine.Claim(t.Context(), "first")
		require.NoError(t, err)
		s, failures := &source{}, &listener{}
		s.put("a")
		opts := reconcile.Options{
			Target: "db", Observer: failures, MaxDeleteFraction: 1, RetryMin: time.Second, RetryMax: time.Minute,
		}
		loop := reconcile.New(mine, s.latest, opts)
		stop := run(t, loop)
		require.Equal(t, 1, target.Writes())

		_, err = other.Claim(t.Context(), "second")
		require.NoError(t, err)
		for range 600 {
			s.put("b")
			s.drop("b")
			s.put("c")
			loop.Wake()
			pass(time.Second)
		}
		status := loop.Status()
		require.ErrorIs(t, status.Err, backends.ErrDeposed)
		require.ErrorContains(t, status.Err, "second")
		require.False(t, status.Converged)
		require.Equal(t, 1, target.Writes(), "a deposed loop wrote")
		failures.mu.Lock()
		require.NotEmpty(t, failures.errs)
		require.Less(t, len(failures.errs), 20, "changes do not shorten the backoff")
		for _, err := range failures.errs {
			require.ErrorIs(t, err, backends.ErrDeposed)
		}
		failures.mu.Unlock()
		stop()

		generation, err := mine.Claim(t.Context(), "first")
		require.NoError(t, err)
		require.Equal(t, uint64(3), generation)
		defer run(t, loop)()
		status = loop.Status()
		require.NoError(t, status.Err)
		require.True(t, status.Converged)
		require.Equal(t, 2, target.Writes())
	})
}

// run begins a loop, waits for its first round and returns what stops it.
func run(t *testing.T, loop *reconcile.Loop) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- loop.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}
