//go:build e2e

package e2ekube_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/serve/authority"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// TestGatewayFindsWhatIsWrong describes one API server in several ways, each with another fault. --check --connect names it, and so do the
// log, /readyz and the metrics of a gateway that starts with it.
func TestGatewayFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	program, err := buildOnce()
	require.NoError(t, err)
	kube := startKube(t)
	kube.ApplyObjects(upstreamObjects(t))
	kube.Apply(`
{apiVersion: v1, kind: Namespace, metadata: {name: gateway}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: powerless, namespace: gateway}}
`)
	dir := t.TempDir()
	address := describeFaults(t, kube, dir)

	var found string
	await.True(t, func() bool { // the API server knows new roles a little later
		out, _ := exec.CommandContext(t.Context(), program, "gateway", "--check", "--connect", "--clusters", dir).CombinedOutput() // it fails
		found = string(out)
		return strings.Contains(found, "good.example: valid, 1 API servers, 1 dispatch policies; spec.clientConfig.")
	}, "the good one is valid")
	for _, want := range []string{
		"cluster ca.example: API server " + address + ": TLS fails: compare its certificate with spec.clientConfig.caData and serverName",
		"cluster powerless.example: API server " + address + ": the user of spec.clientConfig may not impersonate users",
		"the user of spec.clientConfig may not create tokenreviews of authentication.k8s.io",
		"the user of spec.clientConfig may not impersonate userextras/authentication.kubernetes.io/pod-name of authentication.k8s.io",
		"cluster token.example: API server " + address + ": it does not accept the credentials of spec.clientConfig (401)",
		"cluster closed.example: API server https://127.0.0.1:1: no connection to it is possible",
	} {
		require.Contains(t, found, want)
	}
	require.NotContains(t, found, "cluster good.example")

	listen := ovnlab.FreeAddress(t)
	p := ovnlab.Spawn(t, filepath.Join(t.TempDir(), "gateway.log"), os.Environ(), program, "gateway", "--clusters", dir, "--listen", ovnlab.FreeAddress(t), "--metrics-listen", listen)
	get := func(path string) string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listen+path, http.NoBody)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return ""
		}
		defer response.Body.Close() //nolint:errcheck // it is a test's
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(text)
	}
	for name, cause := range map[string][2]string{
		"ca.example": {"Certificate", "TLS fails"}, "token.example": {"Unauthorized", "it does not accept the credentials of spec.clientConfig (401)"},
		"closed.example": {"Unreachable", "no connection to it is possible"},
	} {
		at := address
		if name == "closed.example" {
			at = "https://127.0.0.1:1"
		}
		await.True(t, func() bool {
			return strings.Contains(get("/metrics"), `netloom_gateway_endpoint_not_ready{cause="`+cause[0]+`",cluster="`+name+`",endpoint="`+at+`"} 1`)
		}, "the metric has the cause of %s", name)
		require.Contains(t, get("/readyz"), "cluster "+name+": API server "+at+" is not ready: "+cause[1])
		require.Contains(t, p.Tail(100), `"cause":"`+cause[0]+`","cluster":"`+name+`"`)
	}
	await.True(t, func() bool { return !strings.Contains(get("/readyz"), "good.example") }, "the good one is served")
}

// describeFaults writes UpstreamClusters of one API server, and returns its address.
func describeFaults(t *testing.T, kube *kubelab.Lab, dir string) string {
	t.Helper()
	config := kube.Config()
	ca, err := os.ReadFile(config.CAFile)
	require.NoError(t, err)
	other, err := authority.New("another", time.Now(), authority.Year)
	require.NoError(t, err)
	good, powerless := kube.Token(home, upstreamAccount), kube.Token("gateway", "powerless")
	for name, of := range map[string]struct {
		server, token string
		ca            []byte
	}{
		"good.example": {config.Host, good, ca}, "token.example": {config.Host, "made-up", ca}, "ca.example": {config.Host, good, other.PEM()},
		"powerless.example": {config.Host, powerless, ca}, "closed.example": {"https://127.0.0.1:1", good, ca},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(`apiVersion: proxy.kubegateway.io/v1alpha1
kind: UpstreamCluster
metadata: {name: `+name+`}
spec:
  servers: [{endpoint: "`+of.server+`"}]
  clientConfig: {bearerToken: `+base64.StdEncoding.EncodeToString([]byte(of.token))+`, caData: `+base64.StdEncoding.EncodeToString(of.ca)+`}
  dispatchPolicies: [`+everyRequest+`]
`), 0o600))
	}
	return config.Host
}
