package daemon

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/test/await"
)

// TestGarbageIsBoundByTheLimit lets garbage pile up to five times of what is live, within the most that the heap may have, and beyond that as
// Go does by default.
func TestGarbageIsBoundByTheLimit(t *testing.T) {
	g := &garbage{most: 600 << 20}
	for live, want := range map[uint64]int{
		0: startGC, 1 << 20: startGC, 120 << 20: startGC, 150 << 20: 300, 200 << 20: 200, 300 << 20: usualGC, 400 << 20: usualGC, 1 << 40: usualGC,
	} {
		require.Equal(t, want, g.percent(live), "%d MiB are live", live>>20)
	}
}

// TestGarbageIsAdaptedAfterEachCollection runs real collections.
func TestGarbageIsAdaptedAfterEachCollection(t *testing.T) {
	var live atomic.Uint64
	var last atomic.Int64
	g := &garbage{most: 600 << 20, live: live.Load, set: func(percent int) int { return int(last.Swap(int64(percent))) }}
	last.Store(usualGC)
	g.begin()
	require.EqualValues(t, startGC, last.Load())
	for _, mebibytes := range []uint64{200, 400, 150} {
		live.Store(mebibytes << 20)
		want := g.percent(mebibytes << 20)
		await.True(t, func() bool {
			runtime.GC()
			return int(last.Load()) == want
		}, "it is adapted to %d MiB", mebibytes)
	}
	g.end()
	require.EqualValues(t, usualGC, last.Load())
	live.Store(0)
	g.collected()
	require.EqualValues(t, usualGC, last.Load(), "of a collection that was under way when the start ended")
}

// TestGarbageOfAnotherSettingStays leaves the process as it is if it has another setting, and so if two daemons start in it.
func TestGarbageOfAnotherSettingStays(t *testing.T) {
	for _, set := range []int{-1, 50, startGC} {
		now := set
		g := &garbage{set: func(percent int) int { was := now; now = percent; return was }}
		g.begin()
		require.Equal(t, set, now)
		g.end()
		require.Equal(t, set, now)
	}
}

// TestGarbageIsCollectedAsUsualOnceInSync ends the start with the first read-back that is applied, or after a minute, as on a standby.
func TestGarbageIsCollectedAsUsualOnceInSync(t *testing.T) {
	for name, end := range map[string]func(m *memoryReturner, stop func()){
		"a target is in sync": func(m *memoryReturner, _ func()) {
			m.Planned("a", &backends.Plan{Full: true}, 0)
			m.Converged("a", 1, 0)
		},
		"it takes long":    func(*memoryReturner, func()) { time.Sleep(longestStart) },
		"netloom is ended": func(_ *memoryReturner, stop func()) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemoryReturner(logrus.New())
				var now atomic.Int64
				now.Store(usualGC)
				m.garbage = &garbage{
					most: startHeap, live: func() uint64 { return 0 }, set: func(percent int) int { return int(now.Swap(int64(percent))) },
				}
				m.free = func() { require.EqualValues(t, usualGC, now.Load(), "what is returned is not kept for garbage") }
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					m.run(ctx)
				}()
				synctest.Wait()
				require.EqualValues(t, startGC, now.Load())
				end(m, cancel)
				synctest.Wait()
				require.EqualValues(t, usualGC, now.Load())
				cancel()
				<-done
			})
		})
	}
}

// TestAStartLetsGarbagePileUp asks the runtime how much garbage may pile up while netloom starts and afterwards.
func TestAStartLetsGarbagePileUp(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualGC))
	allowed := func() int {
		percent := debug.SetGCPercent(usualGC)
		debug.SetGCPercent(percent)
		return percent
	}
	g := newGarbage()
	g.begin()
	require.Greater(t, allowed(), usualGC)
	g.end()
	require.Equal(t, usualGC, allowed())
}
