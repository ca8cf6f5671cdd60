package kube

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/source"
	"github.com/netloom/netloom/pkg/source/sourcetest"
)

// emptyAPI is the HTTP of an API server without objects, as far as sources use it: lists, watches, and watches that begin
// with all there is. While locked it refuses services and has no zones.
type emptyAPI struct{ locked atomic.Bool }

// kindAt is the kind that is served at a path.
func (a *emptyAPI) kindAt(path string) (apiVersion, kind string) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for _, r := range v1alpha1.Resources() {
		if r.Plural == name {
			return v1alpha1.GroupVersion.String(), r.Kind
		}
	}
	core := map[string]string{"pods": "Pod", "namespaces": "Namespace", "nodes": "Node", "services": "Service"}
	switch name {
	case "networkpolicies":
		return "networking.k8s.io/v1", "NetworkPolicy"
	case "endpointslices":
		return "discovery.k8s.io/v1", "EndpointSlice"
	default:
		return "v1", core[name]
	}
}

func (a *emptyAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	reply := func(code int, body any) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	version, kind := a.kindAt(r.URL.Path)
	switch {
	case a.locked.Load() && kind == "Service":
		reply(http.StatusForbidden, forbidden("services").(interface{ Status() metav1.Status }).Status())
	case a.locked.Load() && kind == "FirewallZone":
		http.NotFound(w, r)
	case r.URL.Query().Get("watch") == "":
		reply(http.StatusOK, map[string]any{
			"apiVersion": version, "kind": kind + "List", "metadata": map[string]any{"resourceVersion": "7"}, "items": []any{},
		})
	default:
		w.WriteHeader(http.StatusOK)
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{
				"apiVersion": version, "kind": kind, "metadata": map[string]any{
					"resourceVersion": "7", "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
				},
			}})
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// TestRealClientsAreRefused sees kinds withheld with clients as they are: those stream their lists, and fall back.
func TestRealClientsAreRefused(t *testing.T) {
	api := &emptyAPI{}
	api.locked.Store(true)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	config := &rest.Config{Host: server.URL, QPS: 1000, Burst: 1000}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	sdwan, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	k := New(client, Options{SDWAN: sdwan}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	require.Equal(t, []string{"FirewallZone", source.KindService}, k.Unavailable())
	require.Equal(t, []string{"firewallzones.batch.sdewan.akraino.org", "services"}, places(k))
	api.locked.Store(false)
	sourcetest.Await(t, k, func() bool { return len(k.Unavailable()) == 0 })
	require.True(t, k.Synced())
	require.Empty(t, k.Problems())
}
