package daemon

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// How much garbage may pile up, in percent of what is live (GOGC).
const (
	usualGC = 100 // Go's default
	startGC = 400
)

// startHeap is the size in bytes up to which the heap may grow by startGC in a process without a memory limit.
const startHeap = 512 << 20

// garbage has Go collect garbage less often while netloom starts. Most of what it allocates then is soon garbage, of reading objects and
// rendering all rows, and to collect it as often as Go does by default takes a quarter of the processor time of a start.
//
// With what may pile up, the heap is not larger than three quarters of the memory limit, unless it is with Go's default.
type garbage struct {
	set  func(percent int) (before int) // of the process
	live func() uint64                  // bytes after the last collection
	most uint64                         // bytes of the heap

	mu      sync.Mutex
	started bool // begun, and not ended
}

func newGarbage() *garbage {
	g := &garbage{set: debug.SetGCPercent, live: liveHeap, most: startHeap}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		g.most = uint64(limit) / 4 * 3 //nolint:gosec // a limit is not negative
	}
	return g
}

// begin starts collecting less often. It has no effect in a process where something else than Go's default is set: by GOGC, or by another
// start.
func (g *garbage) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if was := g.set(startGC); was != usualGC {
		g.set(was)
		return
	}
	g.started = true
	g.await()
}

// await has collected called after the next collection.
func (g *garbage) await() {
	type sentinel struct{ _ [64]byte } // too large to share a block with what stays
	runtime.AddCleanup(&sentinel{}, (*garbage).collected, g)
}

// collected adapts how much garbage may pile up until the next collection.
func (g *garbage) collected() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.started {
		return
	}
	g.set(g.percent(g.live()))
	g.await()
}

// percent is how much garbage may pile up beside so many live bytes.
func (g *garbage) percent(live uint64) int {
	if live >= g.most/2 {
		return usualGC
	}
	return int(min(startGC, (g.most-live)*100/max(1, live))) //nolint:gosec // at most startGC
}

// end returns to Go's default. It may be called again.
func (g *garbage) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.started {
		g.started = false
		g.set(usualGC)
	}
}

// liveHeap is how many bytes the last collection found live.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
