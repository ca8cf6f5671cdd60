package daemon

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
)

// TestMemoryIsReturnedAfterReadBacks returns memory once the plan of a read-back has been applied, at most once a minute, and not for
// plans from changes.
func TestMemoryIsReturnedAfterReadBacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryReturner(logrus.New())
		var returned atomic.Int64
		m.free = func() { returned.Add(1) }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			m.run(ctx)
		}()
		after := func(want int64, why string) {
			t.Helper()
			synctest.Wait()
			require.Equal(t, want, returned.Load(), why)
		}
		m.Planned("a", &backends.Plan{}, 0)
		m.Converged("a", 1, 0)
		after(0, "a plan from changes")
		m.Planned("a", &backends.Plan{Full: true}, 0)
		m.Converged("b", 1, 0)
		after(0, "the plan is not applied yet")
		m.Converged("a", 1, 0)
		after(1, "the plan is applied")
		m.Converged("a", 2, 0)
		for _, target := range []string{"b", "c"} {
			m.Planned(target, &backends.Plan{Full: true}, 0)
			m.Converged(target, 2, 0)
		}
		after(1, "others follow too soon")
		time.Sleep(memoryPause)
		after(2, "once for both")
		m.Converged("a", 3, 0)
		time.Sleep(2 * memoryPause)
		after(2, "there was no other")
		cancel()
		<-done
	})
}
