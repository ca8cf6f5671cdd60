package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/test/await"
)

// TestStreamsTakeTheirTime has a limit for bodies that no body keeps.
func TestStreamsTakeTheirTime(t *testing.T) {
	t.Parallel()
	r, server, ca, _ := one(t, func(o *gateway.Options) { o.Timeouts.Body = time.Nanosecond })
	const length = 1 << 20 // more than is read with the header
	for path, want := range map[string][]int{"/api/v1/namespaces/shop/pods": {0, 408}, "/api/v1/namespaces/shop/services/web/proxy/upload": {200}} {
		conn, reader := r.raw(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a.example\r\nContent-Length: %d\r\n\r\n", path, length), ca.pair("ann"))
		_, _ = conn.Write(make([]byte, length)) // the gateway may have closed the connection
		require.Contains(t, want, status(t, reader), path)
	}
	require.EqualValues(t, length, server.request().Body)
}

// TestSlowReadersHoldNoPlaces has clients that do not read their answers.
func TestSlowReadersHoldNoPlaces(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(protocol, func(t *testing.T) {
			r, server, ca, reads := one(t, func(o *gateway.Options) { o.Timeouts.Write = 100 * time.Millisecond })
			o := cluster("a.example", ca, server)
			o.Spec.FlowControl.FlowControlSchemas = []v1alpha1.FlowControlSchema{{Name: "one", MaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: 1}}}
			o.Spec.DispatchPolicies[0].FlowControlSchemaName = "one"
			r.serve(o)
			server.change(func() {
				server.objects = func(w http.ResponseWriter, r *http.Request) bool {
					if r.URL.Path != "/api/v1/secrets" {
						return false
					}
					part := make([]byte, 1<<20)
					for range 64 { // more than any buffer takes
						if _, err := w.Write(part); err != nil {
							break
						}
					}
					return true
				}
			})
			if protocol == "HTTP/2" {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://a.example/api/v1/secrets", http.NoBody)
				require.NoError(t, err)
				client := r.client("a.example", ca.pair("ann"))
				var response *http.Response
				await.NoError(t, func() error { // on a busy machine an answer can be cut off before it begins
					response, err = client.Do(request) //nolint:bodyclose // it is closed below
					return err
				}, "an answer that begins")
				defer func() {
					_, err := io.Copy(io.Discard, response.Body)
					require.Error(t, err, "the answer is cut off")
					_ = response.Body.Close()
				}()
			} else {
				_, reader := r.raw("GET /api/v1/secrets HTTP/1.1\r\nHost: a.example\r\n\r\n", ca.pair("ann"))
				_, err := reader.Peek(1)
				require.NoError(t, err, "the answer has begun")
			}
			await.NoError(t, func() error { return r.try(reads, pods) }, "the place is free again")
		})
	}
}
