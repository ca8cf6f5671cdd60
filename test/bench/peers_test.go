package bench

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/inputs/clusters"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/test/bench/footprint"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/field"
)

// otherCluster is a cluster with pods that have the labels of a workload's, and addresses of their own.
func otherCluster(number, pods int) *oracle.Cluster {
	c := policygen.Workload(pods)
	c.Policies = nil
	for i, p := range c.Pods {
		a := netip.AddrFrom4([4]byte{byte(100 + number), byte(i >> 16), byte(i >> 8), byte(i)}).String()
		p.Status.PodIP, p.Status.PodIPs = a, []corev1.PodIP{{IP: a}}
	}
	return c
}

// inSet are the options of a translator whose policies select pods of every cluster.
func inSet() translator.Options {
	return translator.Options{Cluster: "own", ClusterSet: field.SetByDefault, PartsOnly: true}
}

// BenchmarkFlipInAPeer changes labels of a pod and back, in the own cluster and in one of nine others, in turns. Both take one
// transaction, which changes address sets only; that of the own cluster also changes port groups.
func BenchmarkFlipInAPeer(b *testing.B) {
	for _, pods := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			own := policygen.Workload(pods)
			own.Policies = own.Policies[:min(len(own.Policies), 1000)]
			r := newRig(b, startServer(b))
			r.translator = translator.New(inSet())
			makePorts(b, r.client, own)
			r.load(b, own)
			var other *oracle.Cluster
			for n := range 9 {
				other = otherCluster(n, pods)
				for _, o := range other.Namespaces {
					require.NoError(b, r.translator.PutOther(fmt.Sprint("peer-", n), o))
				}
				for _, o := range other.Pods {
					require.NoError(b, r.translator.PutOther(fmt.Sprint("peer-", n), o))
				}
			}
			r.sync(b)
			flipped := map[bool]*corev1.Pod{true: relabel(relabel(own.Pods[0], "app", "none"), "tier", "none"), false: own.Pods[0]}
			foreign := map[bool]*corev1.Pod{true: relabel(relabel(other.Pods[0], "app", "none"), "tier", "none"), false: other.Pods[0]}
			local := func(to bool) { require.NoError(b, r.translator.Put(flipped[to])) }
			remote := func(to bool) { require.NoError(b, r.translator.PutOther("peer-8", foreign[to])) }
			var took [2]time.Duration
			for b.Loop() {
				for _, to := range []bool{true, false} {
					for i, flip := range []func(bool){local, remote} {
						began := time.Now()
						flip(to)
						plan := r.sync(b)
						took[i] += time.Since(began)
						require.False(b, plan.Empty(), "cluster %d", i)
						for _, op := range plan.Ops {
							require.Equal(b, plan.Ops[0].Group, op.Group, "it is one transaction")
							require.NotEqual(b, "ACL", op.Kind)
							require.True(b, i == 0 || op.Kind == "Address_Set", op.Kind)
						}
					}
				}
			}
			b.ReportMetric(float64(took[0].Microseconds())/float64(2*b.N), "µs/local")
			b.ReportMetric(float64(took[1].Microseconds())/float64(2*b.N), "µs/peer")
		})
	}
}

// BenchmarkForeignPods measures the heap for each pod of nine other clusters that are read from API servers, and how long
// it takes until all of them are in the sets of 1,000 policies.
func BenchmarkForeignPods(b *testing.B) {
	for _, pods := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("clusters=9/pods=%d", pods), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				of := translator.New(inSet())
				own := policygen.Workload(pods)
				for _, o := range own.Namespaces {
					require.NoError(b, of.Put(o))
				}
				for _, o := range own.Policies[:min(len(own.Policies), 1000)] {
					require.NoError(b, of.Put(o))
				}
				of.Snapshot()
				var urls []string
				for n := range 9 {
					urls = append(urls, footprint.Serve(b, otherCluster(n, pods)))
				}
				without := inUse()
				b.StartTimer()
				set, stop := joinAll(b, urls)
				for read := false; !read; {
					<-set.Wake()
					read = set.Ready()
					set.Feed(of)
					of.Snapshot()
				}
				b.StopTimer()
				require.Equal(b, pods, of.OtherPods("peer-0"))
				b.ReportMetric(float64(inUse()-without)/float64(9*pods), "B/pod")
				runtime.KeepAlive(set)
				stop()
				runtime.KeepAlive(of)
				b.StartTimer()
			}
		})
	}
}

// joinAll runs a set of the clusters with these API servers, until stop is called.
func joinAll(b *testing.B, urls []string) (set *clusters.Set, stop func()) {
	b.Helper()
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	var all []clusters.Cluster
	for i, url := range urls {
		client, err := kubernetes.NewForConfig(&rest.Config{Host: url, QPS: -1})
		require.NoError(b, err)
		all = append(all, clusters.Cluster{
			Name: fmt.Sprint("peer-", i), Source: kube.New(client, kube.Options{Options: clusters.Reads()}, quiet),
		})
	}
	set = clusters.New(all, time.Hour, quiet)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- set.Run(ctx) }()
	return set, func() {
		cancel()
		require.NoError(b, <-done)
	}
}
