package await

import (
	"runtime"
	"runtime/metrics"
)

// Switches counts how often goroutines begin to run while work is done. The runtime samples one in eight, so the work has to be repeated some
// thousand times. It is done on one processor: with several, some look for what others have not done yet, and the count is luck.
func Switches(work func()) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	before := begun()
	work()
	return sampled * float64(begun()-before)
}

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
