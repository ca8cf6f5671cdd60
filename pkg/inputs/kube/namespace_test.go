package kube

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/object"
)

// TestRightsInOneNamespace has an API that lists the objects of one namespace only.
func TestRightsInOneNamespace(t *testing.T) {
	t.Parallel()
	api := sourcetest.NewAPI(t, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/namespaces/shop/") {
			api.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		plural := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		_ = json.NewEncoder(w).Encode(forbidden(plural).(interface{ Status() metav1.Status }).Status())
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	config := &rest.Config{Host: server.URL, QPS: 1000, Burst: 1000}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	custom, err := dynamic.NewForConfig(config)
	require.NoError(t, err)

	all := New(client, Options{ClusterPolicies: custom}, quiet())
	sourcetest.Run(t, all)
	sourcetest.Await(t, all, func() bool { return all.Refusal() != nil })
	require.True(t, apierrors.IsForbidden(all.Refusal()))
	require.False(t, all.Synced())

	one := New(client, Options{Namespace: "shop", ClusterPolicies: custom}, quiet())
	sourcetest.Run(t, one)
	sourcetest.Await(t, one, one.Synced)
	require.NoError(t, one.Refusal())
	sourcetest.Await(t, one, func() bool { return len(one.Unavailable()) == 5 })
	require.Equal(t, []string{
		object.KindAdminNetworkPolicy, object.KindBaselineAdminNetworkPolicy, object.KindClusterNetworkPolicy, object.KindNamespace, object.KindNode,
	}, one.Unavailable())
}
