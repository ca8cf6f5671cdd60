package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/test/await"
)

// describe writes an object to the file of a directory.
func describe(t *testing.T, dir string, o *v1alpha1.UpstreamCluster) {
	t.Helper()
	o.APIVersion, o.Kind = v1alpha1.GroupVersion.String(), v1alpha1.KindUpstreamCluster
	raw, err := json.Marshal(o)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cluster.json"), raw, 0o600))
}

// newClient returns a client of the API servers that the files of a directory describe.
func newClient(t *testing.T, dir string) *gateway.Client {
	t.Helper()
	log, _ := logtest.NewNullLogger()
	c, err := gateway.NewClient(t.Context(), dir, log)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// through sends a request, and returns its open response.
func through(ctx context.Context, c *gateway.Client, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://upstream"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	return c.RoundTrip(r)
}

// finish sends a request, and closes its response.
func finish(ctx context.Context, c *gateway.Client, path string) error {
	response, err := through(ctx, c, path)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func TestOwnRequestsUseAllAPIServers(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t), t.TempDir()
	a, b := newAPIServer(t, ca), newAPIServer(t, ca)
	o := cluster("a.example", ca, a, b)
	describe(t, dir, o)
	c := newClient(t, dir)
	ok := func() bool {
		response, err := through(t.Context(), c, "/api/v1/pods")
		if err != nil {
			return false
		}
		_, err = io.Copy(io.Discard, response.Body)
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}
	await.True(t, func() bool { return ok() && a.total() > 0 && b.total() > 0 }, "both take turns once both are ready")
	require.Equal(t, []string{"Bearer gateway"}, a.request().Header["Authorization"])

	a.CloseClientConnections()
	a.Close()
	// What a server got before it died is not repeated.
	await.True(t, func() bool {
		for range 10 {
			if !ok() {
				return false
			}
		}
		return true
	}, "then the other serves all")

	b.change(func() { b.token = "new" })
	o = o.DeepCopy()
	o.Spec.ClientConfig.BearerToken = []byte("new")
	describe(t, dir, o)
	await.True(t, ok, "a new token is read from the file")
	require.NoError(t, os.Remove(filepath.Join(dir, "cluster.json")))
	require.True(t, ok(), "the last version stays in force")
}

func TestOwnRequestsAreLimited(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t), t.TempDir()
	server := newAPIServer(t, ca)
	o := cluster("a.example", ca, server)
	o.Spec.FlowControl.FlowControlSchemas = []v1alpha1.FlowControlSchema{{Name: "one", MaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: 1}}}
	o.Spec.DispatchPolicies = []v1alpha1.DispatchPolicy{{
		FlowControlSchemaName: "one", Rules: []v1alpha1.DispatchPolicyRule{{Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods"}}},
	}}
	describe(t, dir, o)
	c := newClient(t, dir)
	first, err := through(t.Context(), c, "/api/v1/pods")
	require.NoError(t, err)
	watch, err := through(t.Context(), c, "/api/v1/pods?watch=true")
	require.NoError(t, err, "watches do not count")
	second := make(chan error, 1)
	go func() { second <- finish(t.Context(), c, "/api/v1/pods") }()
	require.Empty(t, second)
	require.Equal(t, 2, server.total(), "the second list waits for the first")
	require.NoError(t, first.Body.Close())
	require.NoError(t, <-second)
	require.NoError(t, watch.Body.Close())
	require.ErrorContains(t, finish(t.Context(), c, "/api/v1/services"), "no dispatch policy of cluster a.example matches list /api/v1/services")
}

func TestAClientNeedsOneCluster(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t), t.TempDir()
	log, _ := logtest.NewNullLogger()
	_, err := gateway.NewClient(t.Context(), dir, log)
	require.ErrorContains(t, err, "there are 0 UpstreamClusters, not one")
	o := cluster("a.example", ca, newAPIServer(t, ca))
	o.Spec.Servers[0].Endpoint = "ftp://a"
	describe(t, dir, o)
	_, err = gateway.NewClient(t.Context(), dir, log)
	require.ErrorContains(t, err, "spec.servers[0].endpoint")
}

// TestOwnRequestsAreMeasured compares the metrics of a client with what it did, and the table in docs/gateway.md with its metrics.
func TestOwnRequestsAreMeasured(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/namespaces/shop/pods"
	ca, dir := newAuthority(t), t.TempDir()
	server, dead := newAPIServer(t, ca), newAPIServer(t, ca)
	o := cluster("a.example", ca, server)
	o.Spec.FlowControl.FlowControlSchemas = []v1alpha1.FlowControlSchema{{Name: "one", MaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: 1}}}
	o.Spec.DispatchPolicies[0].FlowControlSchemaName = "one"
	describe(t, dir, o)
	c := newClient(t, dir)
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	value := func(name string, labels ...string) float64 {
		return sumOf(t, registry, "netloom_upstream_"+name, labels...)
	}

	list, err := through(t.Context(), c, path)
	require.NoError(t, err)
	watch, err := through(t.Context(), c, path+"?watch=true")
	require.NoError(t, err)
	require.InDelta(t, 1, value("requests_in_flight"), 0)
	require.InDelta(t, 1, value("endpoint_streams"), 0)
	require.NoError(t, list.Body.Close())
	require.NoError(t, watch.Body.Close())
	require.InDelta(t, 0, value("requests_in_flight"), 0)
	require.InDelta(t, 1, value("requests_total", "list", "200"), 0)
	require.InDelta(t, 1, value("requests_total", "watch", "200"), 0)
	require.InDelta(t, 2, value("limit_wait_seconds", "one"), 0)
	require.InDelta(t, 1, value("endpoint_ready"), 0)
	require.Positive(t, value("endpoint_connections_opened_total"))

	require.InDelta(t, 1, value("cluster_accepted"), 0)
	faulty := o.DeepCopy()
	faulty.Spec.DispatchPolicies = nil
	describe(t, dir, faulty)
	await.True(t, func() bool { return value("cluster_accepted") == 0 }, "the faulty object is refused")
	require.NoError(t, finish(t.Context(), c, path), "the last version is in use")

	dead.CloseClientConnections()
	dead.Close()
	describe(t, dir, cluster("a.example", ca, dead))
	await.True(t, func() bool { return value("endpoint_ready") == 0 && value("cluster_accepted") == 1 }, "the object of a dead server is accepted")
	require.Error(t, finish(t.Context(), c, path))
	require.InDelta(t, 1, value("requests_total", "list", "error"), 0)
	require.InDelta(t, 0, value("requests_in_flight"), 0)
	requireListed(t, registry, "netloom_upstream_")
}

// sumOf adds up the samples of a metric whose labels have all of these values; of a histogram, how many observations it has.
func sumOf(t *testing.T, from prometheus.Gatherer, name string, values ...string) float64 {
	t.Helper()
	families, err := from.Gather()
	require.NoError(t, err)
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			has := map[string]bool{}
			for _, l := range m.GetLabel() {
				has[l.GetValue()] = true
			}
			if !slices.ContainsFunc(values, func(v string) bool { return !has[v] }) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}
