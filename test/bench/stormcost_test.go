package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/policygen"
)

// stormBatch is how many changes of a storm are written together, as many as come meanwhile.
const stormBatch = 6

// BenchmarkStorm measures where a storm of relabelled pods and namespaces goes, for each change of it: translating the object, the snapshot,
// the plan, and the transaction.
func BenchmarkStorm(b *testing.B) {
	for _, pods := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			cluster := policygen.Workload(pods)
			r := newRig(b, startServer(b))
			makePorts(b, r.client, cluster)
			r.load(b, cluster)
			r.sync(b)
			var put, snapshot, plan, apply time.Duration
			since := func(began time.Time, to *time.Duration) { *to += time.Since(began) }
			i, rows := 0, 0
			for b.Loop() {
				began := time.Now()
				for range stormBatch {
					storm(b, r, cluster, i)
					i++
				}
				since(began, &put)
				began = time.Now()
				s := r.translator.Snapshot()
				since(began, &snapshot)
				began = time.Now()
				p, err := r.backend.Plan(b.Context(), s, r.reached)
				require.NoError(b, err)
				since(began, &plan)
				began = time.Now()
				require.NoError(b, r.backend.Apply(b.Context(), p))
				since(began, &apply)
				r.reached = s.Revision()
				rows += len(p.Ops)
			}
			for what, d := range map[string]time.Duration{"put": put, "snapshot": snapshot, "plan": plan, "apply": apply} {
				b.ReportMetric(float64(d.Microseconds())/float64(i), what+"-µs/change")
			}
			b.ReportMetric(float64(rows)/float64(i), "rows/change")
		})
	}
}
