package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/test/await"
)

// TestAReviewOutlivesItsRequest has two clients with one token, of which the first gives up.
func TestAReviewOutlivesItsRequest(t *testing.T) {
	t.Parallel()
	r, server, _, _ := one(t, nil)
	asked, answer := make(chan struct{}, 2), make(chan struct{})
	server.change(func() {
		server.users["good"] = "bob"
		server.objects = func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
				asked <- struct{}{}
				select {
				case <-answer:
				case <-r.Context().Done():
				}
			}
			return false
		}
	})
	ctx, giveUp := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan int, 1)
	go func() {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, pods, http.NoBody)
		if err == nil {
			_, err = r.withToken("good").Do(request) //nolint:bodyclose // it fails
		}
		first <- err
	}()
	<-asked
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pods, http.NoBody)
	require.NoError(t, err)
	client := r.withToken("good")
	go func() {
		response, err := client.Do(request)
		if err != nil {
			second <- 0
			return
		}
		_ = response.Body.Close()
		second <- response.StatusCode
	}()
	giveUp()
	require.ErrorIs(t, <-first, context.Canceled)
	close(answer)
	require.Equal(t, 200, <-second)
	require.Equal(t, 1, server.reviewed(), "both wait for one review")
}

// TestMadeUpTokensAreNotReviewedForever has one address send tokens that nobody has.
func TestMadeUpTokensAreNotReviewedForever(t *testing.T) {
	t.Parallel()
	r, server, _, _ := one(t, nil)
	server.change(func() { server.users["good"] = "bob" })
	known := r.withToken("good")
	require.Equal(t, 200, r.ask(known, http.MethodGet, pods).code)
	var limited atomic.Bool
	var strangers sync.WaitGroup
	for i := range 8 {
		client := r.client("a.example")
		strangers.Go(func() {
			for n := 0; n < 1000 && !limited.Load(); n++ {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pods, http.NoBody)
				if err != nil {
					return
				}
				request.Header.Set("Authorization", fmt.Sprintf("Bearer made-up-%d-%d", i, n))
				response, err := client.Do(request)
				if err != nil {
					return
				}
				_ = response.Body.Close()
				if response.StatusCode == http.StatusServiceUnavailable {
					limited.Store(true)
				}
			}
		})
	}
	strangers.Wait()
	require.True(t, limited.Load())
	require.Equal(t, 200, r.ask(known, http.MethodGet, pods).code, "cached tokens and certificates need no review")
}

// TestSelectorsOfOneUserTakeNoReviewsFromOthers has one user send more selectors than the cluster reviews.
func TestSelectorsOfOneUserTakeNoReviewsFromOthers(t *testing.T) {
	t.Parallel()
	const flood = 50
	registry := prometheus.NewRegistry()
	r, server, ca, ann := one(t, func(o *gateway.Options) { o.SharedWatches, o.Registerer = true, registry })
	budget := cluster("a.example", ca, server)
	budget.Spec.ClientConfig.QPS, budget.Spec.ClientConfig.Burst = 1, 20
	r.serve(budget)
	begun, answer := make(chan struct{}, flood), make(chan struct{})
	list := podsOf(server)
	server.change(func() {
		server.may["ann pods "], server.may["bob pods "], server.may["eve pods "] = true, true, true
		server.objects = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/subjectaccessreviews") {
				raw, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(raw))
				if bytes.Contains(raw, []byte("eve")) {
					begun <- struct{}{}
					<-answer
				}
			}
			return list(w, r)
		}
	})
	const all = "https://a.example/api/v1/pods?resourceVersion=0"
	require.Contains(t, r.ask(ann, http.MethodGet, all).body, "PodList", "pods are cached now")

	ctx, giveUp := context.WithCancel(t.Context())
	var eves sync.WaitGroup
	t.Cleanup(func() {
		giveUp()
		close(answer)
		eves.Wait()
	})
	client := r.client("a.example", ca.pair("eve"))
	for i := range flood {
		eves.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint(all, "&labelSelector=x=", i), http.NoBody)
			if err != nil {
				return
			}
			if response, err := client.Do(request); err == nil {
				_ = response.Body.Close()
			}
		})
	}
	await.True(t, func() bool {
		known := sumOf(t, registry, "netloom_gateway_requests_in_flight") + sumOf(t, registry, "netloom_gateway_requests_total")
		return known > flood && len(begun) > 0
	}, "the requests have arrived")
	require.Contains(t, r.ask(r.client("a.example", ca.pair("bob")), http.MethodGet, all).body, "PodList", "the cache answers")
}
