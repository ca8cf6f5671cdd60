package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/test/policygen"
)

// BenchmarkPolicy measures a policy that is deleted and created again, from the changed object to the committed transaction, beside the same
// operations sent raw. Policies that did not change are divided again in between, which is not measured.
func BenchmarkPolicy(b *testing.B) {
	for _, pods := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			cluster := policygen.Workload(pods)
			cluster.Policies = cluster.Policies[:min(len(cluster.Policies), 1000)]
			r := newRig(b, startServer(b))
			makePorts(b, r.client, cluster)
			r.load(b, cluster)
			wire := mirror(b, cluster, r.sync(b))
			var deletion, creation step
			i := 0
			for b.Loop() {
				p := cluster.Policies[i%len(cluster.Policies)]
				i++
				deletion.measure(b, r, wire, func() { r.translator.Remove(object.KindNetworkPolicy, p.Namespace, p.Name) })
				creation.measure(b, r, wire, func() { require.NoError(b, r.translator.Put(p)) })
			}
			deletion.report(b, "delete")
			creation.report(b, "create")
			b.ReportMetric(deletion.took.Seconds()/creation.took.Seconds(), "delete/create")
		})
	}
}

// step is what changes of one kind took.
type step struct {
	n, ops                    int
	translated, planned, took time.Duration // from the changed object to its snapshot, to its plan and to the reply
	raw                       time.Duration // of the same operations
}

// measure makes a change, sends what it wrote to the mirror, and has others divided again in both.
func (s *step) measure(b *testing.B, r *rig, wire *ovsdbtest.Raw, change func()) {
	b.Helper()
	began := time.Now()
	change()
	snapshot := r.translator.Interim(0)
	s.translated += time.Since(began)
	plan, err := r.backend.Plan(b.Context(), snapshot, r.reached)
	s.planned += time.Since(began)
	require.NoError(b, err)
	require.NoError(b, r.backend.Apply(b.Context(), plan))
	s.took += time.Since(began)
	b.StopTimer()
	r.reached = snapshot.Revision()
	s.n, s.ops = s.n+1, s.ops+len(plan.Ops)
	native, err := ovn.Transactions(plan)
	require.NoError(b, err)
	began = time.Now()
	send(b, wire, native[0])
	s.raw += time.Since(began)
	if later := r.sync(b); !later.Empty() {
		native, err := ovn.Transactions(later)
		require.NoError(b, err)
		send(b, wire, native[0])
	}
	b.StartTimer()
}

func (s *step) report(b *testing.B, name string) {
	b.Helper()
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(s.n) }
	b.ReportMetric(each(s.took), "µs/"+name)
	b.ReportMetric(each(s.translated), "µs/"+name+"-translated")
	b.ReportMetric(each(s.planned-s.translated), "µs/"+name+"-planned")
	b.ReportMetric(each(s.raw), "µs/"+name+"-raw")
	b.ReportMetric(float64(s.ops)/float64(s.n), "ops/"+name)
}
