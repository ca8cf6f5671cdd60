package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/registry"
)

// TestClientsThatComeByAddress give the name of the cluster in the TLS connection only, as kubectl does with tls-server-name.
func TestClientsThatComeByAddress(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		ca, other := newAuthority(t), newAuthority(t)
		server := newAPIServer(t, ca)
		r := newRig(t, func(o *gateway.Options) { o.StrictNames = strict })
		r.gateway.Source(func() registry.State { return registry.State{Synced: true} })
		r.serve(cluster("a.example", ca, server))
		for _, host := range []string{"127.0.0.1:6443", "[::1]:6443", "192.0.2.1"} {
			require.Equal(t, 200, r.ask(r.client("a.example", ca.pair("ann")), http.MethodGet, "https://"+host+"/version").code, host)
			require.Equal(t, 401, r.ask(r.client("a.example", other.pair("ann")), http.MethodGet, "https://"+host+"/version").code, "it is a client of that cluster")
		}
		for name, of := range map[string]struct {
			sni, url, want string
		}{
			"another name beside it":   {"a.example", "https://b.example/api/v1/pods", "no cluster is served at the host name b.example:"},
			"the name of no cluster":   {"c.example", "https://192.0.2.1/api/v1/pods", "as tls-server-name"},
			"a name that is too long":  {"a.example", "https://" + strings.Repeat("x", 2000) + "/api/v1/pods", "no cluster is served"},
			"a name, before discovery": {"a.example", "https://b.example/api", "no cluster is served at the host name b.example:"},
		} {
			got := r.ask(r.client(of.sni), http.MethodGet, of.url)
			require.Equal(t, http.StatusForbidden, got.code, name)
			require.Contains(t, got.body, of.want, name)
			require.Less(t, len(got.body), 1000)
			var status metav1.Status
			if name == "a name, before discovery" {
				require.Contains(t, got.header.Get("Content-Type"), "text/plain", "client-go reads no Status there")
				continue
			}
			require.NoError(t, json.Unmarshal([]byte(got.body), &status), name)
			require.Equal(t, metav1.StatusReasonForbidden, status.Reason)
		}
	}
}
