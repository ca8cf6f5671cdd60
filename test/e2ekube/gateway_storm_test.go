//go:build e2e

package e2ekube_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// storm has many clients list at once through a gateway with a limit. All of them have to sync, and the API server must not
// get more lists than the limit allows.
func (s *gatewayScale) storm() {
	t, kube := s.t, s.kube
	clients := max(40, *watchesFlag/5)
	rate, burst := clients/4, clients/4
	rig := newGatewayRig(t, map[string]*kubelab.Lab{"a.example": kube}, fmt.Sprintf(`  flowControl: {flowControlSchemas: [{name: lists, tokenBucket: {qps: %d, burst: %d}}]}
  dispatchPolicies:
  - {rules: [{verbs: [list], apiGroups: [""], resources: [pods]}], flowControlSchemaName: lists}
  - %s
`, rate, burst, everyRequest))
	observed := ovnlab.FreeAddress(t)
	rig.start("--metrics-listen=" + observed)

	connected, failed := make([]kubernetes.Interface, clients), make(chan error, clients)
	for i := range connected {
		connected[i] = rig.client("a.example", nil)
		go func() { // so that a busy machine does not spread the lists over its handshakes
			_, err := connected[i].CoreV1().Pods("default").Get(t.Context(), "seen", metav1.GetOptions{})
			failed <- err
		}()
	}
	for range connected {
		require.NoError(t, <-failed)
	}

	before, began := podLists(t, kube), time.Now()
	var informers []cache.SharedIndexInformer
	for _, client := range connected {
		pods := client.CoreV1().Pods("default")
		informer := cache.NewSharedIndexInformer(withoutWatchList{&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return pods.Watch(ctx, o)
			},
		}}, &corev1.Pod{}, 0, cache.Indexers{})
		go informer.RunWithContext(t.Context())
		informers = append(informers, informer)
	}
	for i, informer := range informers {
		await.True(t, informer.HasSynced, "client %d has synced", i)
	}
	elapsed := time.Since(began)
	lists := podLists(t, kube) - before
	refused := sample(get(t, "http://"+observed+"/metrics"), "netloom_gateway_refused_requests_total", `reason="limited"`)
	s.rows = append(s.rows, fmt.Sprintf("storm | %d clients list at once, limit %d a second and %d at once | all have synced after %s | lists of the API server %d | refused by the gateway %.0f",
		clients, rate, burst, seconds(elapsed), lists, refused))
	require.Positive(t, refused, "there was a storm")
	require.GreaterOrEqual(t, lists, clients)
	require.LessOrEqual(t, lists, burst+1+int(float64(rate)*elapsed.Seconds()))
}

// podLists is how many lists of the pods of a namespace an API server has served, by its own metrics.
func podLists(t *testing.T, lab *kubelab.Lab) int {
	t.Helper()
	raw, err := lab.Client().Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	require.NoError(t, err)
	return int(sample(string(raw), "apiserver_request_total", `resource="pods"`, `scope="namespace"`, `verb="LIST"`))
}
