package gateway_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway"
)

// TestOnlyTheOwnerIsServed sends what others on the machine may have: no credential, a token that the cluster accepts, the gateway's own
// token, a certificate of another authority, and headers that state who they are.
func TestOnlyTheOwnerIsServed(t *testing.T) {
	t.Parallel()
	own, other, ca := newAuthority(t), newAuthority(t), newAuthority(t)
	server := newAPIServer(t, ca)
	server.users["valid"] = "ann"
	r := newRig(t, func(o *gateway.Options) {
		o.OwnerOnly, o.SharedWatches = true, true
	})
	o := cluster("a.example", ca, server)
	o.Spec.SecureServing.ClientCAData = own.pem()
	r.serve(o)
	for name, headers := range map[string][]string{
		"nothing":             nil,
		"a valid token":       {"Authorization", "Bearer valid"},
		"the gateway's token": {"Authorization", "Bearer gateway"},
		"a token of websocket": {
			"Connection", "Upgrade", "Upgrade", "websocket", "Sec-Websocket-Protocol", "base64url.bearer.authorization.k8s.io.dmFsaWQ, v4.channel.k8s.io",
		},
		"a stated user":         {"X-Remote-User", "owner", "X-Remote-Group", "system:masters"},
		"an impersonated owner": {"Impersonate-User", "owner"},
	} {
		for _, client := range []*http.Client{r.client("a.example"), r.client("a.example", other.pair("owner")), r.client("a.example", ca.pair("owner"))} {
			client.Transport.(*http.Transport).ForceAttemptHTTP2 = name != "a token of websocket"
			require.Equal(t, http.StatusUnauthorized, r.ask(client, http.MethodGet, pods, headers...).code, name)
		}
	}
	require.Zero(t, server.total(), "nothing was forwarded")
	require.Zero(t, server.reviewed(), "the cluster was asked about no token")

	owner := r.client("a.example", own.pair("owner"))
	got := r.ask(owner, http.MethodGet, pods, "X-Remote-User", "bob", "Authorization", "Bearer valid")
	require.Equal(t, http.StatusOK, got.code, got.body)
	header := server.request().Header
	require.Equal(t, []string{"Bearer gateway"}, header["Authorization"], "sent as the user of clientConfig")
	for name := range header {
		require.NotContains(t, name, "Impersonate-")
		require.NotContains(t, name, "X-Remote-")
	}

	got = r.ask(owner, http.MethodGet, pods, "Impersonate-User", "bob", "Impersonate-Group", "dev", "Impersonate-Group", "ops", "Impersonate-Extra-Scopes", "view")
	require.Equal(t, http.StatusOK, got.code, got.body)
	header = server.request().Header
	require.Equal(t, []string{"bob"}, header["Impersonate-User"], "the API server decides whom its user may impersonate")
	require.Equal(t, []string{"dev", "ops"}, header["Impersonate-Group"])
	require.Equal(t, []string{"view"}, header["Impersonate-Extra-Scopes"])
	require.Zero(t, server.reviewed())

	_, reader := r.raw("GET /api/v1/pods HTTP/1.1\r\nHost: a.example\r\nImpersonate-User: bob\r\nConnection: Impersonate-User\r\n\r\n", own.pair("owner"))
	require.Equal(t, http.StatusOK, status(t, reader))
	require.Equal(t, []string{"bob"}, server.request().Header["Impersonate-User"], "a connection's header takes nobody's rights")
}
