//go:build e2e

package e2ekube_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// testHostCluster has the gateway read UpstreamClusters from cluster a, and takes API servers away.
func testHostCluster(t *testing.T, g *gatewayRig) {
	host, b := g.labs["a.example"], g.labs["b.example"]
	definition, err := os.ReadFile(root + "/deploy/crds/proxy.kubegateway.io_upstreamclusters.yaml")
	require.NoError(t, err)
	host.Apply(string(definition))
	clusters := host.Objects().Resource(v1alpha1.GroupVersion.WithResource("upstreamclusters"))
	await.True(t, func() bool {
		_, err := clusters.List(t.Context(), metav1.ListOptions{})
		return err == nil
	}, "the server has UpstreamClusters")
	for name := range g.labs {
		text, err := os.ReadFile(g.file(name))
		require.NoError(t, err)
		host.Apply(string(text))
	}
	g.start("--clusters=", "--kubeconfig="+host.Kubeconfig())
	client := g.client("b.example", nil)
	require.NoError(t, once(t, client))
	await.True(t, func() bool {
		o, err := clusters.Get(t.Context(), "b.example", metav1.GetOptions{})
		require.NoError(t, err)
		text, err := o.MarshalJSON()
		return err == nil && strings.Contains(string(text), `"type":"Accepted"`)
	}, "the object has a condition")

	host.KillAPI()
	await.True(t, func() bool { return once(t, g.client("a.example", nil)) != nil }, "the host cluster is away")
	require.NoError(t, once(t, client), "the last good set is served")

	b.KillAPI()
	var gone error
	await.True(t, func() bool {
		gone = once(t, client)
		return apierrors.IsServiceUnavailable(gone)
	}, "no API server is ready")
	seconds, ok := apierrors.SuggestsClientDelay(gone)
	require.True(t, ok && seconds > 0, "clients are told to return: %v", gone)
	b.StartAPI()
	await.True(t, func() bool { return once(t, client) == nil }, "the API server is back")

	host.StartAPI()
	await.True(t, func() bool {
		_, err := clusters.Patch(t.Context(), "b.example", types.MergePatchType, []byte(`{"spec":{"dispatchPolicies":[
			{"rules":[{"verbs":["get"],"nonResourceURLs":["/none"]}]}]}}`), metav1.PatchOptions{})
		return err == nil && apierrors.IsForbidden(once(t, client))
	}, "changes in the host cluster apply again")
	_, err = clusters.Patch(t.Context(), "b.example", types.MergePatchType, []byte(`{"spec":{"servers":[]}}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsInvalid(err), "faults that the schema knows are rejected: %v", err)
}

// testOwnRequests runs netloom with the API servers of an UpstreamCluster in place of a kubeconfig.
func testOwnRequests(t *testing.T, g *gatewayRig) {
	program, err := buildOnce()
	require.NoError(t, err)
	dir, listen := t.TempDir(), ovnlab.FreeAddress(t)
	text, err := os.ReadFile(g.file("b.example"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cluster.yaml"), text, 0o600))
	p := ovnlab.Spawn(t, filepath.Join(t.TempDir(), "netloom.log"), os.Environ(), program, "run", "--upstream-cluster", dir,
		"--ovn-nb=embedded", "--debug-listen=", "--listen", listen)
	ready := func() bool {
		response, err := http.Get("http://" + listen + "/readyz") //nolint:noctx // it is on loopback
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
	await.True(t, ready, "%s", "netloom has read the cluster: "+p.Tail(5))
	metrics := get(t, "http://"+listen+"/metrics")
	require.Positive(t, sample(metrics, "netloom_upstream_requests_total", `cluster="b.example"`, `verb="watch"`, `code="200"`))
	require.Positive(t, sample(metrics, "netloom_upstream_endpoint_streams", `cluster="b.example"`))
	require.Positive(t, sample(metrics, "netloom_build_info"), "beside its own")
	require.NoError(t, p.Signal(syscall.SIGTERM))
	<-p.Exited()
	require.Zero(t, p.ExitCode(), p.Tail(30))
}

// once sends one request, and does not repeat it.
func once(t *testing.T, client kubernetes.Interface) error {
	t.Helper()
	_, err := client.CoreV1().RESTClient().(*rest.RESTClient).Get().AbsPath("/api/v1/namespaces/default").MaxRetries(0).DoRaw(t.Context())
	return err
}
