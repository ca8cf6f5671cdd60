package footprint

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/test/oracle"
)

// clusterAPI is an HTTP API server with the objects of a cluster, which it keeps as text.
type clusterAPI struct {
	*sourcetest.API

	items map[string][]json.RawMessage // by plural
}

// Serve starts an API server for the objects of a cluster.
func Serve(tb testing.TB, c *oracle.Cluster) string {
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
	for _, o := range c.Services {
		add("services", "v1", "Service", o)
	}
	for i, o := range c.Slices {
		add("endpointslices", "discovery.k8s.io/v1", "EndpointSlice", controlled(o, i))
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

// controlled returns a slice as the controller of EndpointSlices leaves it: with references to pods, and zones.
func controlled(e *discoveryv1.EndpointSlice, i int) *discoveryv1.EndpointSlice {
	e = e.DeepCopy()
	e.ResourceVersion = fmt.Sprint(2_000_000 + i)
	e.GenerateName = e.Name
	e.Labels[discoveryv1.LabelManagedBy] = "endpointslice-controller.k8s.io"
	yes, no, zone := true, false, "zone-a"
	for j := range e.Endpoints {
		p := &e.Endpoints[j]
		name := fmt.Sprintf("pod-of-%s-%d", e.Name, j)
		p.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: e.Namespace, Name: name, UID: types.UID("uid-of-" + name)}
		p.Conditions.Serving, p.Conditions.Terminating, p.Zone = &yes, &no, &zone
	}
	return e
}

// writeKubeconfig writes a file by which a client finds an API server without authentication.
func writeKubeconfig(t *testing.T, url string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: bench, cluster: {server: %q}}]
users: [{name: bench, user: {}}]
contexts: [{name: bench, context: {cluster: bench, user: bench}}]
current-context: bench
`, url), 0o600))
	return file
}
