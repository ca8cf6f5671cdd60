package gateway_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/identity"
)

// TestAnotherClusterUnderTheSameName replaces all API servers of a cluster. What those of before said about tokens, rights and
// objects is true no longer.
func TestAnotherClusterUnderTheSameName(t *testing.T) {
	r, before, _, _ := one(t, func(o *gateway.Options) {
		o.SharedWatches, o.TTL = true, identity.TTL{Positive: time.Hour, Negative: time.Hour}
	})
	before.change(func() {
		before.users["good"], before.may["bob pods "], before.objects = "bob", true, podsOf(before)
	})
	const list = "https://a.example/api/v1/pods?resourceVersion=0"
	client := r.client("a.example")
	require.Contains(t, r.ask(client, http.MethodGet, list, "Authorization", "Bearer good").body, "PodList")
	require.Equal(t, 401, r.ask(client, http.MethodGet, list, "Authorization", "Bearer new").code)
	watch := r.watch(r.withToken("good"), "https://a.example/api/v1/pods?watch=true&resourceVersion=5")

	ca := newAuthority(t)
	after := newAPIServer(t, ca)
	after.change(func() { after.users["new"] = "bob" })
	r.serve(cluster("a.example", ca, after))
	_, err := io.Copy(io.Discard, watch.lines)
	require.NoError(t, err, "watches end in order")
	_ = watch.response.Body.Close()
	require.Equal(t, 401, r.ask(client, http.MethodGet, list, "Authorization", "Bearer good").code)
	got := r.ask(client, http.MethodGet, list, "Authorization", "Bearer new")
	require.Equal(t, answer{200, got.header, "answer"}, got, "bob has no right to list there: the API server answers")
	require.Equal(t, "bob", after.request().Header.Get("Impersonate-User"))

	bad := cluster("a.example", ca, before)
	bad.Spec.ClientConfig.CAData = []byte("none")
	require.Error(t, r.gateway.Clusters().Put(bad))
	require.Equal(t, 200, r.ask(client, http.MethodGet, list, "Authorization", "Bearer new").code, "the last good version is served")
}
