package bench

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
)

// startServer starts a real ovsdb-server, or skips the benchmark where none is installed: the floor would mean nothing.
func startServer(b *testing.B) string {
	b.Helper()
	if !ovsdbtest.Available() {
		b.Skip("no ovsdb-server is installed")
	}
	process, err := ovsdbtest.StartProcess(b.Context(), b.TempDir(), schema.NB2303())
	require.NoError(b, err)
	b.Cleanup(func() { _ = process.Stop() })
	return process.Addr()
}

// BenchmarkColdStart measures from objects in hand and an empty database to all rows committed, beside the same
// operations sent raw to another empty database.
func BenchmarkColdStart(b *testing.B) {
	for _, size := range []struct{ pods, policies int }{{1000, 200}, {10000, 1000}} {
		cluster := policygen.Workload(size.pods)
		cluster.Policies = cluster.Policies[:size.policies]
		b.Run(fmt.Sprintf("pods=%d/policies=%d", size.pods, size.policies), func(b *testing.B) { coldStart(b, cluster) })
	}
	b.Run("services=1000", func(b *testing.B) { coldStart(b, policygen.Services(1000)) })
}

// coldStart times a pipeline from the objects of a cluster on.
func coldStart(b *testing.B, cluster *oracle.Cluster) {
	b.Helper()
	var ours, floor, quiet time.Duration
	var transactions, ops int
	for b.Loop() {
		b.StopTimer()
		r := newRig(b, startServer(b))
		makePorts(b, r.client, cluster)
		raw := newRig(b, startServer(b))
		makePorts(b, raw.client, cluster)
		runtime.GC()
		b.StartTimer()

		began := time.Now()
		r.load(b, cluster)
		plan := r.sync(b)
		ours += time.Since(began)

		b.StopTimer()
		native, err := ovn.Transactions(plan)
		require.NoError(b, err)
		transactions, ops = len(native), len(plan.Ops)
		wire := dial(b, raw.client.Endpoint())
		began = time.Now()
		for _, group := range native {
			send(b, wire, group)
		}
		floor += time.Since(began)

		began = time.Now()
		again := newRig(b, r.client.Endpoint())
		again.load(b, cluster)
		require.True(b, again.sync(b).Empty())
		quiet += time.Since(began)
		b.StartTimer()
	}
	n := float64(b.N)
	b.ReportMetric(ours.Seconds()*1000/n, "ms/cold")
	b.ReportMetric(floor.Seconds()*1000/n, "ms/raw")
	b.ReportMetric(ours.Seconds()/floor.Seconds(), "x/raw")
	b.ReportMetric(quiet.Seconds()*1000/n, "ms/restart")
	b.ReportMetric(float64(transactions), "txns")
	b.ReportMetric(float64(ops), "ops")
}

// BenchmarkLabelFlip measures from a changed pod to the committed transaction, beside the same operations sent raw.
func BenchmarkLabelFlip(b *testing.B) {
	for _, pods := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			cluster := policygen.Workload(pods)
			cluster.Policies = cluster.Policies[:min(len(cluster.Policies), 1000)]
			r := newRig(b, startServer(b))
			makePorts(b, r.client, cluster)
			r.load(b, cluster)
			plan := r.sync(b)
			pod := cluster.Pods[17]
			other := relabel(pod, "tier", "elsewhere")
			joinAndLeave(b, r, mirror(b, cluster, plan), func() { require.NoError(b, r.translator.Put(pod)) },
				func() { require.NoError(b, r.translator.Put(other)) })
		})
	}
}

// BenchmarkLargeSet measures a pod that joins and leaves a set of ten thousand, beside the raw mutation.
func BenchmarkLargeSet(b *testing.B) {
	for _, members := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			cluster := policygen.Workload(members)
			cluster.Policies = cluster.Policies[:1] // its egress reaches every pod
			r := newRig(b, startServer(b))
			makePorts(b, r.client, cluster)
			r.load(b, cluster)
			plan := r.sync(b)
			pod := cluster.Pods[17]
			joinAndLeave(b, r, mirror(b, cluster, plan), func() { require.NoError(b, r.translator.Put(pod)) },
				func() { r.translator.Remove("Pod", pod.Namespace, pod.Name) })
		})
	}
}

// BenchmarkEndpoint measures an endpoint that leaves a Service and comes back, from the changed slice to the committed
// transaction.
func BenchmarkEndpoint(b *testing.B) {
	for _, services := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			cluster := policygen.Services(services)
			r := newRig(b, startServer(b))
			makePorts(b, r.client, cluster)
			r.load(b, cluster)
			plan := r.sync(b)
			slice := cluster.Slices[17]
			less := without(slice)
			joinAndLeave(b, r, mirror(b, cluster, plan), func() { require.NoError(b, r.translator.Put(slice)) },
				func() { require.NoError(b, r.translator.Put(less)) })
		})
	}
}

// mirror is a raw connection to a second database with the same rows, where the same changes cost what they must.
func mirror(b *testing.B, cluster *oracle.Cluster, plan *backends.Plan) *ovsdbtest.Raw {
	b.Helper()
	second := newRig(b, startServer(b))
	makePorts(b, second.client, cluster)
	wire := dial(b, second.client.Endpoint())
	native, err := ovn.Transactions(plan)
	require.NoError(b, err)
	for _, group := range native {
		send(b, wire, group)
	}
	return wire
}

// joinAndLeave times both changes to the commit, and their operations sent raw to the mirror.
func joinAndLeave(b *testing.B, r *rig, wire *ovsdbtest.Raw, join, leave func()) {
	b.Helper()
	var ours, floor time.Duration
	ops, bytes := 0, 0
	for b.Loop() {
		for _, change := range []func(){leave, join} {
			began := time.Now()
			change()
			plan := r.sync(b)
			ours += time.Since(began)

			b.StopTimer()
			require.False(b, plan.Empty())
			ops, bytes = len(plan.Ops), size(b, plan)
			native, err := ovn.Transactions(plan)
			require.NoError(b, err)
			began = time.Now()
			send(b, wire, native[0])
			floor += time.Since(began)
			b.StartTimer()
		}
	}
	n := float64(2 * b.N)
	b.ReportMetric(float64(ours.Microseconds())/n, "µs/event")
	b.ReportMetric(float64(floor.Microseconds())/n, "µs/raw")
	b.ReportMetric(ours.Seconds()/floor.Seconds(), "x/raw")
	b.ReportMetric(float64(ops), "ops")
	b.ReportMetric(float64(bytes), "B/event")
}

func dial(b *testing.B, endpoint string) *ovsdbtest.Raw {
	b.Helper()
	wire, err := ovsdbtest.DialRaw(b.Context(), endpoint, ovsdb.DefaultDatabase)
	require.NoError(b, err)
	b.Cleanup(func() { _ = wire.Close() })
	return wire
}

func send[T any](b *testing.B, wire *ovsdbtest.Raw, ops []T) {
	b.Helper()
	list := make([]any, len(ops))
	for i, op := range ops {
		list[i] = op
	}
	_, err := wire.Transact(list...)
	require.NoError(b, err)
}

// BenchmarkReadBack measures a plan from read-back that finds nothing to do, beside the raw selects it needs.
func BenchmarkReadBack(b *testing.B) {
	for _, pods := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			cluster := policygen.Workload(pods)
			cluster.Policies = cluster.Policies[:min(len(cluster.Policies), 1000)]
			r := newRig(b, startServer(b))
			makePorts(b, r.client, cluster)
			r.load(b, cluster)
			r.sync(b)
			wire := dial(b, r.client.Endpoint())
			var ours, floor time.Duration
			for b.Loop() {
				r.reached = 0
				began := time.Now()
				require.True(b, r.sync(b).Empty())
				ours += time.Since(began)

				b.StopTimer()
				began = time.Now()
				for _, table := range []string{"ACL", "Address_Set", "Port_Group"} {
					_, err := wire.Select(table, nil)
					require.NoError(b, err)
				}
				floor += time.Since(began)
				b.StartTimer()
			}
			b.ReportMetric(ours.Seconds()*1000/float64(b.N), "ms/plan")
			b.ReportMetric(floor.Seconds()*1000/float64(b.N), "ms/raw")
			b.ReportMetric(ours.Seconds()/floor.Seconds(), "x/raw")
		})
	}
}
