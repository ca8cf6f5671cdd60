package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/serve"
)

// TestServingReviewsHaveConnectionsOfTheirOwn asks an API both ways, and for one of them twice.
func TestServingReviewsHaveConnectionsOfTheirOwn(t *testing.T) {
	var from sync.Map
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { from.Store(r.RemoteAddr, true) }))
	t.Cleanup(api.Close)
	config := &rest.Config{Host: api.URL}
	for _, c := range []*rest.Config{config, serve.Reviewing(config), rest.CopyConfig(config)} {
		client, err := rest.HTTPClientFor(c)
		require.NoError(t, err)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api.URL, http.NoBody)
		require.NoError(t, err)
		response, err := client.Do(request)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	connections := 0
	from.Range(func(any, any) bool { connections++; return true })
	require.Equal(t, 2, connections)
}
