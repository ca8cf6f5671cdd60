package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/retention"
	"github.com/netloom/netloom/pkg/source/kube"
	"github.com/netloom/netloom/pkg/source/sourcetest"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/translator"
)

// clusterAPI is an HTTP API server with the pods, namespaces and policies of a cluster, which it keeps as text.
type clusterAPI struct {
	*sourcetest.API

	items map[string][]json.RawMessage // by plural
}

// serveCluster starts an API server for the objects of a cluster.
func serveCluster(tb testing.TB, c *oracle.Cluster) string {
	tb.Helper()
	a := &clusterAPI{sourcetest.NewAPI(tb, nil), map[string][]json.RawMessage{}}
	add := func(plural, version, kind string, o any) {
		text, err := json.Marshal(o)
		require.NoError(tb, err)
		text = append(fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,`, version, kind), text[1:]...)
		a.items[plural] = append(a.items[plural], text)
	}
	for _, o := range c.Namespaces {
		add("namespaces", "v1", "Namespace", o)
	}
	for i, o := range c.Pods {
		add("pods", "v1", "Pod", deployed(o, i))
	}
	for _, o := range c.Policies {
		add("networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", o)
	}
	server := httptest.NewServer(a)
	tb.Cleanup(server.Close)
	tb.Cleanup(server.CloseClientConnections)
	return server.URL
}

// ServeHTTP answers lists of the objects, and watches that begin with a list; everything else is empty.
func (a *clusterAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	plural := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	items := a.items[plural]
	if r.URL.Query().Get("watch") == "" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"7"},"items":[`)
		for i, item := range items {
			if i > 0 {
				_, _ = fmt.Fprint(w, ",")
			}
			_, _ = w.Write(item)
		}
		_, _ = fmt.Fprint(w, `]}`)
		return
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		w.Header().Set("Content-Type", "application/json")
		for _, item := range items {
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`, item)
		}
	}
	a.API.ServeHTTP(w, r)
}

// deployed returns a pod as a Deployment and a kubelet leave it: with labels of its ReplicaSet, two containers, volumes and
// conditions.
func deployed(p *corev1.Pod, i int) *corev1.Pod {
	p = p.DeepCopy()
	p.ResourceVersion = fmt.Sprint(1_000_000 + i)
	p.Labels["pod-template-hash"] = fmt.Sprintf("%x", len(p.Labels["app"])*1_000_003+int(p.Labels["app"][1]))
	p.Labels["app.kubernetes.io/managed-by"] = "Helm"
	p.Annotations = map[string]string{"k8s.ovn.org/pod-networks": fmt.Sprintf(`{"default":{"ip_addresses":["%s/16"]}}`, p.Status.PodIP), "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
		Name: "sidecar", Image: "example.com/sidecar", Ports: []corev1.ContainerPort{{ContainerPort: 9090}},
		Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
	})
	p.Spec.Volumes = []corev1.Volume{{Name: "data"}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}

// footprint reads a cluster from an API server and returns how much of the heap its objects occupy after they were translated.
func footprint(tb testing.TB, c *oracle.Cluster) uint64 {
	tb.Helper()
	url := serveCluster(tb, c)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: url, QPS: -1})
	require.NoError(tb, err)
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	src := kube.New(client, kube.Options{}, quiet)
	p := pipeline.New(retention.NewSource(src, retention.Options{}), translator.Options{}, quiet) // as the daemon does
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
				b.ReportMetric(float64(footprint(b, cluster))/float64(pods), "B/pod")
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
	small := footprint(t, cluster)
	cluster.Pods = all
	large := footprint(t, cluster)
	each := (float64(large) - float64(small)) / (many - few)
	empty := float64(unsafe.Sizeof(corev1.Pod{}))
	t.Logf("%.0f bytes for a further pod, %.2f times the size of an empty one", each, each/empty)
	require.Less(t, each, 2*empty)
}
