package gateway_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/test/await"
)

// TestErrorsOfAPIServersAreForwarded has answers that clients act on.
func TestErrorsOfAPIServersAreForwarded(t *testing.T) {
	t.Parallel()
	_, server, _, client, ask := answering(t)
	for _, code := range []int{http.StatusGone, http.StatusTooManyRequests, http.StatusConflict, http.StatusInternalServerError, http.StatusGatewayTimeout} {
		status := `{"kind":"Status","code":1,"message":"` + http.StatusText(code) + `"}`
		server.change(func() {
			server.objects = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/pods") {
					w.Header().Set("Retry-After", "7")
					w.Header().Set("Audit-Id", "theirs")
					w.Header().Set("Warning", `299 - "old"`)
					w.WriteHeader(code)
					_, _ = io.WriteString(w, status)
					return true
				}
				return false
			}
		})
		got := ask(client)
		require.Equal(t, answer{code, got.header, status}, got)
		for name, want := range map[string]string{"Retry-After": "7", "Audit-Id": "theirs", "Warning": `299 - "old"`} {
			require.Equal(t, []string{want}, got.header[name], "%s of %d", name, code)
		}
	}
}

// answering returns a rig, and what asks it for pods.
func answering(t *testing.T) (*rig, *apiServer, *authority, *http.Client, func(*http.Client) answer) {
	t.Helper()
	r, server, ca, client := one(t, nil)
	return r, server, ca, client, func(c *http.Client) answer { return r.ask(c, http.MethodGet, pods) }
}

// TestAnAbortedWatchIsNoAnswer has an API server that dies within a watch: the client sees that, and no further text.
func TestAnAbortedWatchIsNoAnswer(t *testing.T) {
	t.Parallel()
	r, server, ca, client, _ := answering(t)
	server.change(func() {
		server.objects = func(w http.ResponseWriter, r *http.Request) bool {
			if !r.URL.Query().Has("watch") {
				return false
			}
			_, _ = io.WriteString(w, "event\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	watch := r.watch(client, pods+"?watch=true")
	text, err := io.ReadAll(watch.lines)
	require.Error(t, err, "over HTTP/2")
	require.Equal(t, "event\n", string(text))
	watch.close()

	_, reader := r.raw("GET /api/v1/namespaces/shop/pods?watch=true HTTP/1.1\r\nHost: a.example\r\n\r\n", ca.pair("ann"))
	response, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	text, err = io.ReadAll(response.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "over HTTP/1.1")
	require.Equal(t, "event\n", string(text))
	_ = response.Body.Close()
}

// TestPlacesAreFreeAfterFailures ends requests in every way that is no orderly end.
func TestPlacesAreFreeAfterFailures(t *testing.T) {
	t.Parallel()
	r, server, ca, client, ask := answering(t)
	o := cluster("a.example", ca, server)
	o.Spec.FlowControl.FlowControlSchemas = []v1alpha1.FlowControlSchema{{Name: "one", MaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: 1}}}
	o.Spec.DispatchPolicies[0].FlowControlSchemaName = "one"
	r.serve(o)
	arrived := make(chan struct{}, 10)
	server.change(func() {
		server.objects = func(w http.ResponseWriter, r *http.Request) bool {
			switch r.URL.Query().Get("fails") {
			case "at once":
				panic(http.ErrAbortHandler)
			case "later":
				_, _ = w.Write(make([]byte, 1<<16))
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			case "never":
				arrived <- struct{}{}
				<-r.Context().Done()
				return true
			}
			return false
		}
	})
	free := func(after string) {
		t.Helper()
		await.True(t, func() bool { return ask(client).code == 200 }, "the place is free after %s", after)
	}
	require.Equal(t, 502, r.ask(client, http.MethodGet, pods+"?fails=at+once").code)
	free("no answer")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pods+"?fails=later", http.NoBody)
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	require.Error(t, err)
	require.NoError(t, response.Body.Close())
	free("half an answer")
	ctx, giveUp := context.WithCancel(t.Context())
	request = request.WithContext(ctx)
	request.URL.RawQuery = "fails=never"
	go func() {
		<-arrived
		giveUp()
	}()
	_, err = client.Do(request) //nolint:bodyclose // it fails
	require.ErrorIs(t, err, context.Canceled)
	free("a client that gave up")
}

// TestAnUnreadStreamHoldsUpNobody has one client that does not read, on a connection to the API server that others share.
func TestAnUnreadStreamHoldsUpNobody(t *testing.T) {
	t.Parallel()
	r, server, ca, client, ask := answering(t)
	server.change(func() {
		server.objects = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/api/v1/secrets" {
				return false
			}
			for part := make([]byte, 1<<20); ; {
				if _, err := w.Write(part); err != nil {
					return true
				}
			}
		}
	})
	unread := r.watch(r.client("a.example", ca.pair("ann")), "https://a.example/api/v1/secrets?watch=true")
	defer unread.close()
	watch := r.watch(client, pods+"?watch=true")
	defer watch.close()
	for range 100 {
		require.Equal(t, 200, ask(client).code)
		server.events <- "event\n"
		require.Equal(t, "event\n", watch.next(t))
	}
	require.Equal(t, 1, r.gateway.Clusters().Endpoints("a.example")[0].Connections)
}

// TestClustersComeAndGoUnderTraffic adds and removes a cluster while another one serves requests.
func TestClustersComeAndGoUnderTraffic(t *testing.T) {
	t.Parallel()
	r, _, _, client, ask := answering(t)
	ca := newAuthority(t)
	other := newAPIServer(t, ca)
	ctx, stop := context.WithCancel(t.Context())
	var traffic sync.WaitGroup
	failed := make(chan error, 1)
	traffic.Go(func() {
		for ctx.Err() == nil {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pods, http.NoBody)
			if err == nil {
				var response *http.Response
				if response, err = client.Do(request); err == nil {
					_ = response.Body.Close()
					if response.StatusCode != http.StatusOK {
						err = errors.New(response.Status)
					}
				}
			}
			if err != nil {
				failed <- err
				return
			}
		}
	})
	watch := r.watch(client, pods+"?watch=true")
	defer watch.close()
	for range 20 {
		r.serve(cluster("b.example", ca, other))
		require.Equal(t, 200, r.ask(r.client("b.example", ca.pair("ann")), http.MethodGet, "https://b.example/version").code)
		r.gateway.Clusters().Delete("b.example")
		require.Equal(t, 503, r.ask(r.client("b.example", ca.pair("ann")), http.MethodGet, "https://b.example/version").code)
	}
	stop()
	traffic.Wait()
	require.Empty(t, failed)
	require.Equal(t, 200, ask(client).code)
	require.Equal(t, 1, r.gateway.Clusters().Endpoints("a.example")[0].Streams, "the watch went on")
}
