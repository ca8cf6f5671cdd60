// Package growth checks in tests how the cost of work grows with its size. It counts what work does and no time, so that the
// verdict is the same on a busy machine: bytes and objects allocated and, when `make growth` runs the tests, the statements
// that run in packages of this module (test/growth/count). What the standard library does without allocating, such as moving
// the elements behind one that is inserted, is not seen.
package growth

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/netloom/netloom/test/growth/ops"
)

// factor is the ratio of the two sizes. Work in proportion to n log n then costs about 4.7 times as much, work in
// proportion to n² 16 times.
const factor = 4

// The largest accepted ratios of costs: half as much again as n log n, because tables grow in steps of two, and as nothing.
const (
	mostNearlyLinear = 7
	mostConstant     = 1.5
)

// attempts is how often a size is measured, at most. The minimum counts: a goroutine in the background, which may allocate
// as well, never makes work cheaper.
const attempts = 5

// NearlyLinear fails the test if work of size 4n runs more than 7 times the statements that work of size n does, or
// allocates more than 7 times the bytes or objects. Prepare returns the work for a size; its own cost does not count.
func NearlyLinear(t testing.TB, n int, prepare func(n int) (work func())) {
	t.Helper()
	compare(t, n, mostNearlyLinear, prepare)
}

// Constant fails the test if work of size 4n costs more than half as much again as work of size n, in statements, bytes or objects.
func Constant(t testing.TB, n int, prepare func(n int) (work func())) {
	t.Helper()
	compare(t, n, mostConstant, prepare)
}

func compare(t testing.TB, n int, most float64, prepare func(n int) (work func())) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	small, large := unmeasured, unmeasured
	for range attempts {
		small, large = small.orLess(measure(n, prepare)), large.orLess(measure(factor*n, prepare))
		if len(exceeded(small, large, most)) == 0 {
			break
		}
	}
	t.Logf("%d: %v; %d: %v", n, small, factor*n, large)
	for _, which := range exceeded(small, large, most) {
		t.Errorf("%d times the size costs %.1f times the %s: %d at %d, %d at %d", factor,
			ratio(small[which], large[which], floors[which]), names[which], small[which], n, large[which], factor*n)
	}
}

// cost is what some work did: statements that ran, 0 when they are not counted, bytes and objects allocated.
type cost [3]uint64

var (
	names = [3]string{"statements", "bytes", "objects"}
	// Below these a cost does not depend on the size yet.
	floors     = [3]uint64{1000, 1 << 16, 1000}
	unmeasured = cost{math.MaxUint64, math.MaxUint64, math.MaxUint64}
)

// orLess is the minimum of two costs in each respect.
func (c cost) orLess(o cost) cost { return cost{min(c[0], o[0]), min(c[1], o[1]), min(c[2], o[2])} }

// exceeded returns in which respects large costs more than that many times as much.
func exceeded(small, large cost, most float64) []int {
	var all []int
	for i := range names {
		if ratio(small[i], large[i], floors[i]) > most {
			all = append(all, i)
		}
	}
	return all
}

// ratio returns how many times small large is. Small costs are rounded up to the floor.
func ratio(small, large, floor uint64) float64 { return float64(large) / float64(max(small, floor)) }

// measure is the cost of the work of a size.
func measure(n int, prepare func(n int) func()) cost {
	var before, after runtime.MemStats
	work := prepare(n)
	runtime.GC()
	ran := ops.Read()
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return cost{ops.Since(ran), after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs}
}
