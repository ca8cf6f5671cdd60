package kube

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
)

// TestUnreachableServerIsAProblem uses a real client: informers ask a server for streamed lists, and retry silently when
// there is no answer. Endpoints are asked for only once it is known that there are no slices.
func TestUnreachableServerIsAProblem(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: gone.URL})
	require.NoError(t, err)
	k := New(client, Options{}, quiet())
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, func() bool { return len(k.Problems()) == len(k.resources)-1 })
	for _, p := range k.Problems() {
		require.Contains(t, p.Message, "connection refused")
		require.NotContains(t, p.Message, "timeout", "the same text at each try")
	}
	require.False(t, k.Synced())
}
