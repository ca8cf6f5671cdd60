package main

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
)

// plantedFile has secrets in Secrets, in objects that are good and in one that is not. No connection can be opened to its pod.
const plantedFile = `
{apiVersion: v1, kind: Namespace, metadata: {name: edge}}
---
{apiVersion: v1, kind: Secret, metadata: {name: account, namespace: edge}, stringData: {password: planted-password}}
---
{apiVersion: v1, kind: Secret, metadata: {name: tunnel, namespace: edge}, data: {psk: cGxhbnRlZC1wc2s=, pre_shared_key: cGxhbnRlZC1wc2s=}}
---
apiVersion: v1
kind: Pod
metadata: {name: cnf-0, namespace: edge, labels: {sdewanPurpose: branch, cnf-account-secret: account}}
status: {phase: Running, podIP: 0.0.0.1, podIPs: [{ip: 0.0.0.1}], conditions: [{type: Ready, status: "True"}]}
---
apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: IpsecProposal
metadata: {name: strong, namespace: edge, labels: {sdewanPurpose: branch}}
spec: {encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072}
---
apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: IpsecSite
metadata: {name: plain, namespace: edge, labels: {sdewanPurpose: branch}}
spec:
  remote: 203.0.113.51
  authentication_method: psk
  pre_shared_key: planted-plain
  crypto_proposal: [strong]
  connections: [{name: b, conn_type: tunnel, mode: start, local_subnet: 172.16.0.0/24, remote_subnet: 192.169.0.0/16, crypto_proposal: [strong]}]
---
apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: IpsecSite
metadata: {name: faulty, namespace: edge, labels: {sdewanPurpose: branch}}
spec:
  remote: 203.0.113.52
  authentication_method: psk
  pre_shared_key: 'planted-"quote'
  crypto_proposal: [strong]
  connections: [{name: c, conn_type: tunnel, mode: start, local_subnet: 172.16.0.0/24, remote_subnet: 192.170.0.0/16, crypto_proposal: [strong]}]
`

// requireNoSecret checks that text contains no planted secret. All of them start alike.
func requireNoSecret(t *testing.T, where, text string) {
	t.Helper()
	require.NotContains(t, text, "planted-", where)
	require.NotContains(t, text, base64.StdEncoding.EncodeToString([]byte("planted-"))[:10], where)
}

// TestCommandsPrintNoSecrets runs every command that shows objects.
func TestCommandsPrintNoSecrets(t *testing.T) {
	dir, server := manifests(t), database(t)
	write(t, dir, "planted.yaml", plantedFile)
	for _, form := range []string{"table", "json", "yaml"} {
		for _, args := range [][]string{
			{"translate", "-f", dir},
			{"plan", "-f", dir, "--ovn-nb", server.Addr()},
			{"drift", "-f", dir, "--ovn-nb", server.Addr()},
			{"explain", "-f", dir, "ipsecsite/edge/plain"},
			{"explain", "-f", dir, "ipsecsite/edge/faulty"},
			{"explain", "-f", dir, "pod/edge/cnf-0"},
		} {
			got := netloom(t, append(args, "-o", form)...)
			require.NotEmpty(t, got.out+got.errout, args)
			requireNoSecret(t, strings.Join(args[:2], " ")+" -o "+form, got.out+got.errout)
		}
	}
	got := netloom(t, "translate", "-f", dir, "-o", "json")
	require.Contains(t, got.out+got.errout, "faulty", "the objects were read")
}

// TestCredentialsAreNotPrinted uses a malformed key and a token that is refused.
func TestCredentialsAreNotPrinted(t *testing.T) {
	dir := manifests(t)
	for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
		write(t, dir, name, "-----BEGIN PRIVATE KEY-----\nplanted-key\n-----END PRIVATE KEY-----\n")
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	defer api.Close()
	write(t, dir, "kubeconfig", `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "`+api.URL+`"}}], users: [{name: u, user: {token: planted-token}}]}`)
	for _, args := range [][]string{
		{"run", "--manifests", dir, "--ovn-nb", "ssl:127.0.0.1:1", "--ovn-ca-cert", file("ca.crt"), "--ovn-cert", file("tls.crt"), "--ovn-key", file("tls.key")},
		{"run", "--kubeconfig", file("kubeconfig"), "--ovn-nb", "embedded"},
		{
			"run", "--kubeconfig", file("kubeconfig"), "--ovn-nb", "embedded", "--listen-tls", "files", "--listen-cert", file("tls.crt"), "--listen-key", file("tls.key"),
			"--listen-auth", "kubernetes",
		},
	} {
		address := freeAddress(t)
		printed := during(t, append(args, "--listen", address, "--debug-listen=", "--log-level", "trace"), func() {
			scheme := "http://"
			if len(args) > 6 && args[5] == "--listen-tls" {
				scheme = "https://"
			}
			awaitPage(t, scheme+address+"/readyz", func(code int, text string) bool {
				requireNoSecret(t, "/readyz", text)
				return code == http.StatusServiceUnavailable || scheme == "https://"
			})
		})
		require.NotEmpty(t, printed)
		requireNoSecret(t, strings.Join(args, " "), printed)
	}
}

// TestPagesShowNoSecrets looks at every page of a daemon that cannot reach its CNFs, the web page included.
func TestPagesShowNoSecrets(t *testing.T) {
	dir := manifests(t)
	write(t, dir, "planted.yaml", plantedFile)
	health, debug, page := freeAddress(t), freeAddress(t), freeAddress(t)
	printed := during(t, []string{
		"run", "--manifests", dir, "--ovn-nb", "embedded", "--sdewan", "--sdewan-plain-http", "--listen", health, "--debug-listen", debug, "--ui-listen", page, "--log-level", "trace",
	}, func() {
		awaitPage(t, "http://"+debug+"/debug/problems", func(_ int, text string) bool { return strings.Contains(text, "faulty") })
		awaitPage(t, "http://"+health+"/metrics", func(_ int, text string) bool {
			errors := `netloom_target_errors_total{phase="plan",target="openwrt/edge/cnf-0"} `
			return strings.Contains(text, errors) && !strings.Contains(text, errors+"0\n")
		})
		for _, url := range []string{
			health + "/metrics", health + "/readyz", debug + "/debug/snapshot", debug + "/debug/manifests", debug + "/debug/plan",
			debug + "/debug/plan?output=json", debug + "/debug/problems", page + "/", page + "/api/v1/overview", page + "/api/v1/matrix",
			page + "/api/v1/policies", page + "/api/v1/names", page + "/api/v1/targets", page + "/api/v1/policies/shop/db-client-a",
			page + "/api/v1/policies/shop/db-client-a/rows",
		} {
			awaitPage(t, "http://"+url, func(code int, text string) bool {
				require.NotEqual(t, http.StatusNotFound, code, url)
				requireNoSecret(t, url, text)
				return true
			})
		}
		awaitPage(t, "http://"+debug+"/debug/pprof/", func(code int, _ string) bool { return code == http.StatusNotFound })
	})
	require.Contains(t, printed, "openwrt/edge/cnf-0", "the device was tried")
	requireNoSecret(t, "the log", printed)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// during runs a command until f is done, and returns all that it printed.
func during(t *testing.T, args []string, f func()) string {
	t.Helper()
	read, readErr := redirect(t, &os.Stdout), redirect(t, &os.Stderr)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, args) }()
	defer func() { <-ended }()
	defer cancel()
	f()
	cancel()
	ended <- <-ended
	return read() + readErr()
}

// awaitPage asks for a page until it says what it should. A handshake that fails is an answer too.
func awaitPage(t *testing.T, url string, good func(code int, text string) bool) {
	t.Helper()
	await.True(t, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return strings.HasPrefix(url, "https://") && !strings.Contains(err.Error(), "refused") && good(0, err.Error())
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		return err == nil && good(response.StatusCode, string(text))
	}, "%s", url)
}
