//go:build e2e

package e2ekube_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// testSharedWatches runs informers of several users through netloom gateway with shared watches.
func testSharedWatches(t *testing.T, g *gatewayRig, web string) {
	const clients = 30
	observed := ovnlab.FreeAddress(t)
	g.start("--shared-watches", "--metrics-listen="+observed)
	a := g.labs["a.example"]
	a.Apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web, namespace: default}
rules: [{apiGroups: [""], resources: [pods], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web, namespace: gateway}]
`)
	before := podWatches(t, a)
	var stores []cache.SharedIndexInformer
	for i := range clients {
		client, namespace := g.client("a.example", nil), ""
		if i%3 == 0 {
			client, namespace = g.client("a.example", withToken(web)), "default"
		}
		informer := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace)).Core().V1().Pods().Informer()
		go informer.RunWithContext(t.Context())
		stores = append(stores, informer)
	}
	pods := a.Client().CoreV1().Pods("default")
	var last *corev1.Pod
	for i := range 10 {
		var err error
		last, err = pods.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("shared-", i)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for i, s := range stores {
		await.True(t, func() bool {
			got, ok, err := s.GetStore().GetByKey("default/" + last.Name)
			return err == nil && ok && got.(*corev1.Pod).ResourceVersion == last.ResourceVersion && len(s.GetStore().List()) >= 10
		}, "client %d has the last pod", i)
	}
	text := get(t, "http://"+observed+"/metrics")
	require.InDelta(t, clients, sample(text, "netloom_gateway_shared_watches", `cluster="a.example"`, `resource="pods"`), 0)
	await.True(t, func() bool { return podWatches(t, a) <= before+1 }, "the API server serves one more watch of pods")

	_, err := g.client("a.example", withToken(web)).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	_, err = g.client("a.example", withToken(web)).CoreV1().Pods("kube-system").Watch(t.Context(), metav1.ListOptions{ResourceVersion: last.ResourceVersion})
	require.True(t, apierrors.IsForbidden(err), "%v", err)

	a.KillAPI()
	a.StartAPI()
	var labeled *corev1.Pod
	await.True(t, func() bool {
		labeled, err = relabeled(t, a.Client(), last.Name)
		return err == nil
	}, "the API server is back")
	for i, s := range stores {
		await.True(t, func() bool {
			got, ok, err := s.GetStore().GetByKey("default/" + last.Name)
			return err == nil && ok && got.(*corev1.Pod).ResourceVersion == labeled.ResourceVersion
		}, "client %d sees a change after a restart of the API server", i)
	}
}

func relabeled(t *testing.T, client kubernetes.Interface, name string) (*corev1.Pod, error) {
	t.Helper()
	return client.CoreV1().Pods("default").Patch(t.Context(), name, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"app":"new"}}}`), metav1.PatchOptions{})
}

// podWatches is how many watches of pods an API server serves, by its own metrics.
func podWatches(t *testing.T, lab *kubelab.Lab) int {
	t.Helper()
	raw, err := lab.Client().Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	require.NoError(t, err)
	return int(sample(string(raw), "apiserver_longrunning_requests", `resource="pods"`, `verb="WATCH"`))
}

// get returns the body of a page.
func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

// sample adds up the samples of a metric that have all of the labels.
func sample(text, name string, labels ...string) float64 {
	sum := 0.0
lines:
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); !ok || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(line, l) {
				continue lines
			}
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
		if err == nil {
			sum += value
		}
	}
	return sum
}
