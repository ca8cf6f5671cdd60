package watch

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestUnreachableServerIsAProblem uses a real client: informers ask a real server for streamed lists, and try again without
// a word where nobody answers. Endpoints are asked for only once it is known that there are no slices.
func TestUnreachableServerIsAProblem(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: gone.URL})
	require.NoError(t, err)
	k := NewKubernetes(client, Options{}, quiet())
	running(t, k)
	await(t, k, func() bool { return len(k.Problems()) == len(k.resources)-1 })
	for _, p := range k.Problems() {
		require.Contains(t, p.Message, "connection refused")
		require.NotContains(t, p.Message, "timeout", "the same text at each try")
	}
	require.False(t, k.Synced())
}
