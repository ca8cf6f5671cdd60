package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"
	"unsafe"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/test/bench/footprint"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/translator"
)

// heapOf reads a cluster from an API server and returns how much of the heap its objects occupy after they were translated.
func heapOf(tb testing.TB, c *oracle.Cluster) uint64 {
	tb.Helper()
	url := footprint.Serve(tb, c)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: url, QPS: -1})
	require.NoError(tb, err)
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	src := kube.New(client, kube.Options{}, quiet)
	p := pipeline.New(retention.NewSource(src, retention.Options{}), translator.Options{PartsOnly: true}, quiet) // as the daemon does
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { done <- src.Run(ctx) }()
	for p.Latest() == nil || p.Stats().Endpoints < len(c.Pods) {
		<-src.Wake()
		p.Step()
	}
	with := inUse()
	runtime.KeepAlive(src)
	runtime.KeepAlive(p)
	cancel()
	require.NoError(tb, <-done)
	src, p = nil, nil
	return with - inUse()
}

// inUse returns how much of the heap is in use.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMemory measures the heap for each pod of a cluster that was read from an API server, without any target.
func BenchmarkMemory(b *testing.B) {
	for _, pods := range []int{1000, 10000, 50000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			cluster := policygen.Workload(pods)
			cluster.Policies = cluster.Policies[:min(len(cluster.Policies), 1000)]
			for b.Loop() {
				b.ReportMetric(float64(heapOf(b, cluster))/float64(pods), "B/pod")
			}
		})
	}
}

// TestPodsTakeLittleMemory bounds what a further pod of a cluster takes, by the size of the type that the API has for pods.
func TestPodsTakeLittleMemory(t *testing.T) {
	const few, many = 1000, 5000
	cluster := policygen.Workload(many)
	cluster.Policies = cluster.Policies[:100]
	all := cluster.Pods
	cluster.Pods = all[:few]
	small := heapOf(t, cluster)
	cluster.Pods = all
	large := heapOf(t, cluster)
	each := (float64(large) - float64(small)) / (many - few)
	empty := float64(unsafe.Sizeof(corev1.Pod{}))
	t.Logf("%.0f bytes for a further pod, %.2f times the size of an empty one", each, each/empty)
	require.Less(t, each, 2*empty)
}
