package await

import (
	"math"
	"runtime"
	"runtime/metrics"
)

// Switches counts how often goroutines begin to run while work is done. The runtime samples one in eight, so the work has to be repeated some
// thousand times. It is done on one processor: with several, some look for what others have not done yet, and the count is luck. All goroutines
// of the process count, so work is done several times, and the least count is that with the fewest others.
func Switches(work func()) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	least := math.Inf(1)
	for range attempts {
		before := begun()
		work()
		least = min(least, sampled*float64(begun()-before))
	}
	return least
}

// attempts is how many times Switches counts.
const attempts = 5

// sampled is of how many goroutines that begin to run the runtime counts one.
const sampled = 8

func begun() uint64 {
	latencies := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(latencies)
	var n uint64
	for _, count := range latencies[0].Value.Float64Histogram().Counts {
		n += count
	}
	return n
}
