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

// factor is how many times the larger size is the smaller one. Work in proportion to n log n costs about 4.7 times as much
// then, work in proportion to n² 16 times.
const factor = 4

// most is the ratio of costs that is accepted: half as much again as n log n at n = 1000, far from n².
const most = 9

// attempts is how often each size is measured. The least counts: nothing makes work cheaper than it is.
const attempts = 4

// NearlyLinear fails the test when work of size 4n costs more than 9 times the processor time of work of size n, or
// allocates more than 9 times the bytes. n must be so large that the work takes a millisecond or more. Prepare returns the
// work for a size; its own cost does not count. Waiting for a processor does not count either, so a busy machine changes
// nothing.
func NearlyLinear(t testing.TB, n int, prepare func(n int) (work func())) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	smallTime, smallBytes := measure(t, n, prepare)
	largeTime, largeBytes := measure(t, factor*n, prepare)
	t.Logf("%d: %v, %d bytes; %d: %v, %d bytes", n, smallTime, smallBytes, factor*n, largeTime, largeBytes)
	if ratio := float64(largeTime) / float64(max(smallTime, time.Millisecond/2)); ratio > most {
		t.Errorf("%d times the size took %.1f times the processor time: %v at %d, %v at %d",
			factor, ratio, smallTime, n, largeTime, factor*n)
	}
	if ratio := float64(largeBytes) / float64(max(smallBytes, 1<<16)); ratio > most {
		t.Errorf("%d times the size allocated %.1f times the bytes: %d at %d, %d at %d",
			factor, ratio, smallBytes, n, largeBytes, factor*n)
	}
}

// measure is the processor time and the bytes that the work of a size takes at least.
func measure(t testing.TB, n int, prepare func(n int) func()) (time.Duration, uint64) {
	t.Helper()
	took, bytes := time.Duration(math.MaxInt64), uint64(math.MaxUint64)
	var before, after runtime.MemStats
	for range attempts {
		work := prepare(n)
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := threadTime(t)
		work()
		took = min(took, threadTime(t)-began)
		runtime.ReadMemStats(&after)
		bytes = min(bytes, after.TotalAlloc-before.TotalAlloc)
	}
	return took, bytes
}

// threadTime is the processor time of this thread so far.
func threadTime(t testing.TB) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
