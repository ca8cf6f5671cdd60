// Package growth checks in tests how the cost of work grows with its size.
package growth

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// factor is the ratio of the two sizes. Work in proportion to n log n then costs about 4.7 times as much, work in
// proportion to n² 16 times.
const factor = 4

// most is the largest accepted ratio of costs: more than twice that of n log n at n = 1000, because the larger size may not
// fit into a cache that the smaller one fits into, in particular with a busy neighbor; and well below that of n².
const most = 11

// attempts is how often the smaller size is measured, and patience how often the larger one, but only until its cost is low
// enough. The minimum counts: noise never makes work cheaper. The larger size gets more attempts, since a busy neighbor that takes
// its cache away may stay for a while.
const (
	attempts = 6
	patience = 24
)

// NearlyLinear fails the test if work of size 4n costs more than 11 times the CPU time of work of size n, or
// allocates more than 11 times the bytes. n must be large enough for the work to take a millisecond or more. Prepare returns
// the work for a size; its own cost does not count. Waiting for a CPU does not count either.
func NearlyLinear(t testing.TB, n int, prepare func(n int) (work func())) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	small, large := unmeasured, unmeasured
	for range attempts {
		small = small.orLess(measure(t, n, prepare))
	}
	for range patience {
		large = large.orLess(measure(t, factor*n, prepare))
		if inTime, inBytes := ratios(small, large); inTime <= most && inBytes <= most {
			break
		}
	}
	t.Logf("%d: %v, %d bytes; %d: %v, %d bytes", n, small.time, small.bytes, factor*n, large.time, large.bytes)
	inTime, inBytes := ratios(small, large)
	if inTime > most {
		t.Errorf("%d times the size took %.1f times the processor time: %v at %d, %v at %d",
			factor, inTime, small.time, n, large.time, factor*n)
	}
	if inBytes > most {
		t.Errorf("%d times the size allocated %.1f times the bytes: %d at %d, %d at %d",
			factor, inBytes, small.bytes, n, large.bytes, factor*n)
	}
}

// cost is the cost of some work.
type cost struct {
	time  time.Duration
	bytes uint64
}

var unmeasured = cost{math.MaxInt64, math.MaxUint64}

// orLess is the minimum of two costs in each respect.
func (c cost) orLess(o cost) cost { return cost{min(c.time, o.time), min(c.bytes, o.bytes)} }

// ratios returns how many times small large is. Tiny costs are rounded up, so that noise does not count.
func ratios(small, large cost) (inTime, inBytes float64) {
	return float64(large.time) / float64(max(small.time, time.Millisecond/2)),
		float64(large.bytes) / float64(max(small.bytes, 1<<16))
}

// measure is the cost of the work of a size.
func measure(t testing.TB, n int, prepare func(n int) func()) cost {
	t.Helper()
	var before, after runtime.MemStats
	work := prepare(n)
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := threadTime(t)
	work()
	took := threadTime(t) - began
	runtime.ReadMemStats(&after)
	return cost{took, after.TotalAlloc - before.TotalAlloc}
}

// threadTime is the CPU time of this thread so far.
func threadTime(t testing.TB) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
