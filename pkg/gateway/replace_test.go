package gateway_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/identity"
)

// TestAnotherClusterUnderTheSameName replaces all API servers of a cluster. What those of before said about tokens, rights and
// objects is true no longer.
func TestAnotherClusterUnderTheSameName(t *testing.T) {
	t.Parallel()
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

// TestHostNamesBelongToTheOldest has clusters that ask for the same host names.
func TestHostNamesBelongToTheOldest(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	r, server := newRig(t, nil), newAPIServer(t, ca)
	set := r.gateway.Clusters()
	put := func(name string, created int64, names ...string) {
		t.Helper()
		o := cluster(name, ca, server)
		o.CreationTimestamp, o.Spec.SecureServing.ServerNames = metav1.Unix(created, 0), names
		require.NoError(t, set.Put(o))
	}
	put("b.example", 2, "shared.example", "a.example")
	put("c.example", 1, "shared.example")
	put("a.example", 3)
	require.Equal(t, "the host name shared.example belongs to cluster c.example; the host name a.example belongs to cluster a.example", set.Conflict("b.example"))
	require.Empty(t, set.Conflict("a.example")+set.Conflict("c.example"))
	put("c.example", 4, "shared.example") // it was created again
	require.Equal(t, "the host name a.example belongs to cluster a.example", set.Conflict("b.example"))
	require.Equal(t, "the host name shared.example belongs to cluster b.example", set.Conflict("c.example"))
}
