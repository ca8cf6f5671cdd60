package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/test/policygen"
)

// BenchmarkClaim measures the cost of checking each transaction against the newest claim in the database: a label flip
// of a pod among 1,000 by an instance that claimed its database, by one that did not, and the bare operations. They take
// turns, each with a database of its own, so that whatever else the machine does hits all.
func BenchmarkClaim(b *testing.B) {
	cluster := policygen.Workload(1000)
	cluster.Policies = cluster.Policies[:200]
	with, without := newRig(b, startServer(b)), newRig(b, startServer(b))
	_, err := with.backend.Claim(b.Context(), "netloom-0_bench")
	require.NoError(b, err)
	for _, r := range []*rig{with, without} {
		makePorts(b, r.client, cluster)
		r.load(b, cluster)
		r.sync(b)
	}
	raw := newRig(b, startServer(b))
	makePorts(b, raw.client, cluster)
	raw.load(b, cluster)
	wire := mirror(b, cluster, raw.sync(b))

	pods := []*corev1.Pod{relabel(cluster.Pods[17], "tier", "elsewhere"), cluster.Pods[17]}
	var claimed, unclaimed, bare []time.Duration
	for i := 0; b.Loop(); i++ {
		for _, pod := range pods {
			if i%2 == 0 { // the first one pays for caches that the others left cold
				claimed = append(claimed, flip(b, with, pod))
			}
			unclaimed = append(unclaimed, flip(b, without, pod))
			if i%2 == 1 {
				claimed = append(claimed, flip(b, with, pod))
			}
			require.NoError(b, raw.translator.Put(pod))
			native, err := ovn.Transactions(raw.sync(b))
			require.NoError(b, err)
			began := time.Now()
			send(b, wire, native[0])
			bare = append(bare, time.Since(began))
		}
	}
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2].Nanoseconds()) / 1000
	}
	b.ReportMetric(median(claimed), "µs/claimed")
	b.ReportMetric(median(unclaimed), "µs/unclaimed")
	b.ReportMetric(median(bare), "µs/raw")
	b.ReportMetric(median(claimed)/median(unclaimed), "x/unclaimed")
}

// flip times a changed pod to the commit.
func flip(b *testing.B, r *rig, pod *corev1.Pod) time.Duration {
	b.Helper()
	began := time.Now()
	require.NoError(b, r.translator.Put(pod))
	require.False(b, r.sync(b).Empty())
	return time.Since(began)
}
