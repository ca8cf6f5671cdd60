package kube

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/object"
)

// TestRealClientsAreRefused checks that kinds are unavailable with real clients, which stream their lists and fall back.
func TestRealClientsAreRefused(t *testing.T) {
	t.Parallel()
	var locked atomic.Bool
	locked.Store(true)
	api := sourcetest.NewAPI(t, func(w http.ResponseWriter, plural string) bool {
		switch {
		case locked.Load() && plural == "services":
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(forbidden("services").(interface{ Status() metav1.Status }).Status())
		case locked.Load() && plural == "firewallzones":
			http.Error(w, "404 page not found", http.StatusNotFound)
		default:
			return false
		}
		return true
	})
	config := &rest.Config{Host: api.URL, QPS: 1000, Burst: 1000}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	sdwan, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	k := New(client, Options{SDWAN: sdwan}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	require.Equal(t, []string{"FirewallZone", object.KindService}, k.Unavailable())
	require.Equal(t, []string{"firewallzones.batch.sdewan.akraino.org", "services"}, places(k))
	locked.Store(false)
	sourcetest.Await(t, k, func() bool { return len(k.Unavailable()) == 0 })
	require.True(t, k.Synced())
	require.Empty(t, k.Problems())
}
