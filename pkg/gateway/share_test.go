package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/watchcache"
	"github.com/netloom/netloom/test/await"
)

// podsOf serves one pod and its changes with the server's own events.
func podsOf(s *apiServer) func(w http.ResponseWriter, r *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/pods" || r.URL.Query().Has("watch") || r.Header.Get("Impersonate-User") != "" {
			return false
		}
		s.note(r, 0)
		_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a","namespace":"shop","resourceVersion":"3"},"spec":{}}]}`)
		return true
	}
}

// TestASubsetIsNotShared has a policy that says which API servers serve its requests.
func TestASubsetIsNotShared(t *testing.T) {
	t.Parallel()
	log, hook := logtest.NewNullLogger()
	r, server, ca, ann := one(t, func(o *gateway.Options) { o.SharedWatches, o.AccessLog = true, log })
	server.change(func() { server.may["ann pods "], server.objects = true, podsOf(server) })
	const all = "https://a.example/api/v1/pods?resourceVersion=0"
	require.Contains(t, r.ask(ann, http.MethodGet, all).body, "PodList", "the gateway's own list")
	o := cluster("a.example", ca, server)
	o.Spec.Logging.Mode = v1alpha1.LogOn
	r.serve(o)
	require.Contains(t, r.ask(r.client("a.example", ca.pair("ann", "new")), http.MethodGet, all).body, "PodList", "the API server is asked for access again")
	await.True(t, func() bool { return len(hook.AllEntries()) == 1 }, "the entry of the access log")
	require.Empty(t, hook.LastEntry().Data["endpoint"], "no API server has answered it")
	o = o.DeepCopy()
	o.Spec.DispatchPolicies[0].UpstreamSubset = []string{server.URL}
	r.serve(o)
	require.Equal(t, "answer", r.ask(ann, http.MethodGet, all).body)
	require.Equal(t, "ann", server.request().Header.Get("Impersonate-User"))
}

func TestWatchesAreShared(t *testing.T) {
	t.Parallel()
	const all = "https://a.example/api/v1/pods"
	registry := prometheus.NewRegistry()
	r, server, ca, ann := one(t, func(o *gateway.Options) {
		o.SharedWatches, o.Registerer = true, registry
		o.Trimming = &watchcache.Trimming{Header: "Objects", Value: "small", Trim: func(_ schema.GroupVersionResource, raw []byte) ([]byte, error) {
			return []byte(strings.Replace(string(raw), `,"spec":{}`, "", 1)), nil
		}}
	})
	server.change(func() { server.may["ann pods "], server.objects = true, podsOf(server) })

	got := r.ask(ann, http.MethodGet, all+"?resourceVersion=0", "Objects", "small")
	require.Equal(t, http.StatusOK, got.code)
	require.JSONEq(t, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[
		{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","resourceVersion":"3"}}]}`, got.body)
	require.Equal(t, "small", got.header.Get("Objects"))
	require.Len(t, got.header["Audit-Id"], 1)

	var watches []*stream
	for range 5 {
		watches = append(watches, r.watch(ann, all+"?watch=true&resourceVersion=5"))
	}
	await.True(t, func() bool { return server.total() == 2 }, "one list and one watch")
	const event = `{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","resourceVersion":"6"}}}` + "\n"
	server.events <- event
	for _, w := range watches {
		require.JSONEq(t, event, w.next(t))
	}
	require.Equal(t, 2, server.total())
	require.Empty(t, server.request().Header.Get("Impersonate-User"), "the gateway watches for itself")

	bob := r.ask(r.client("a.example", ca.pair("bob")), http.MethodGet, all+"?resourceVersion=0")
	require.Equal(t, "answer", bob.body, "who may not list is answered by the API server")
	require.Equal(t, "bob", server.request().Header.Get("Impersonate-User"))

	families, err := registry.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			values[f.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	require.InDelta(t, 5, values["netloom_gateway_shared_watches"], 0)
	require.InDelta(t, 1, values["netloom_gateway_shared_objects"], 0)
	require.InDelta(t, 7, values["netloom_gateway_shared_requests_total"], 0, "5 watches, a list, and one forwarded")

	r.stop()
	for _, w := range watches {
		_, err := io.Copy(io.Discard, w.lines)
		require.NoError(t, err, "the watches end in order")
		_ = w.response.Body.Close()
	}
}
