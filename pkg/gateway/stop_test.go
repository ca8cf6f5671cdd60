package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway"
)

// TestWatchesThatBeginLateEndInOrder stops the gateway while a cluster is being asked about the token of a watch.
func TestWatchesThatBeginLateEndInOrder(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]bool{"forwarded": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			r, server, _, ann := one(t, func(o *gateway.Options) { o.SharedWatches = shared })
			asked, answer := make(chan struct{}), make(chan struct{})
			list := podsOf(server)
			server.change(func() {
				server.users["good"], server.may["ann pods "], server.may["bob pods "] = "bob", true, true
				server.objects = func(w http.ResponseWriter, r *http.Request) bool {
					if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
						close(asked)
						<-answer
					}
					return list(w, r)
				}
			})
			const watch = "https://a.example/api/v1/pods?watch=true&resourceVersion=5"
			first := r.watch(ann, watch)
			type begun struct {
				*http.Response
				err error
			}
			late := make(chan begun, 1)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, watch, http.NoBody)
			require.NoError(t, err)
			request.Header.Set("Authorization", "Bearer good")
			client := r.client("a.example")
			go func() {
				response, err := client.Do(request) //nolint:bodyclose // its receiver does
				late <- begun{response, err}
			}()
			<-asked
			r.stop()
			_, err = io.Copy(io.Discard, first.lines)
			require.NoError(t, err)
			_ = first.response.Body.Close()
			close(answer)
			second := <-late
			require.NoError(t, second.err)
			require.Equal(t, 200, second.StatusCode)
			_, err = io.Copy(io.Discard, second.Body)
			require.NoError(t, err, "the watch ends as if the API server had ended it")
			_ = second.Body.Close()
		})
	}
}
