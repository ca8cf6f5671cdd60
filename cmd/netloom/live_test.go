package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/httpstream"      //nolint:staticcheck // what it points to is no dependency of this module's own
	"k8s.io/apimachinery/pkg/util/httpstream/spdy" //nolint:staticcheck // likewise
	"k8s.io/client-go/tools/portforward"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/test/await"
)

// running is a daemon over the manifests of dir, and where it answers.
func running(t *testing.T, dir string) string {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	opts := daemon.Options{Manifests: dir, Reconcile: reconcile.Options{MaxDeleteFraction: 1, RetryMin: time.Millisecond, RetryMax: time.Second}}
	opts.Target.Owner, opts.Target.OVN.Endpoints = "netloom", []string{ovn.Embedded}
	opts.Target.OVN.PortNames = "{namespace}_{pod}"
	d, err := daemon.New(opts, log)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	server := httptest.NewServer(d.Handler())
	t.Cleanup(func() {
		server.Close()
		stop()
		require.NoError(t, <-ended)
		d.Close()
	})
	await.True(t, func() bool {
		answer, err := request(t.Context(), http.DefaultClient, http.MethodGet, server.URL+"/debug/manifests")
		_, looked := manifest.UnlistedOf(answer)
		return err == nil && looked
	}, "everything has been read")
	return server.URL
}

func TestAnswersOfADaemonAreThoseOfItsManifests(t *testing.T) {
	url := running(t, exampleDir)
	for _, args := range [][]string{
		{"probe", "shop/web-0->shop/db-0:5432", "shop/api-0->shop/db-0:5432", "203.0.113.7->shop/web-0:8080"},
		{"probe", "shop/web-0->svc/shop/api:http", "-o", "json"},
		{"explain", "networkpolicy/shop/db"},
		{"explain", "pod/shop/web-0"},
		{"impact", "--without", "networkpolicy/shop/web"},
		{"translate", "-o", "json"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			want := netloom(t, append(args, "-f", exampleDir)...)
			got := netloom(t, append(args, "--server", url)...)
			require.NotEmpty(t, want.out+want.errout)
			want.out = strings.ReplaceAll(want.out, "suggest -f "+exampleDir, "suggest --server "+url)
			require.Equal(t, want, got)
		})
	}
	t.Run("a kind that is not evaluated", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(exampleDir)))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cilium.yaml"), []byte(
			"apiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: no-one, namespace: shop}\nspec: {egressDeny: [{toEntities: [all]}]}\n"), 0o600))
		ask := []string{"probe", "shop/web-0->shop/db-0:5432"}
		want, got := netloom(t, append(ask, "-f", dir)...), netloom(t, append(ask, "--server", running(t, dir))...)
		require.Equal(t, exitCannotTell, want.code)
		require.Equal(t, want.code, got.code, got.errout)
		require.Contains(t, got.errout, "ignored, although they decide on connections: 1 CiliumNetworkPolicy")
	})
	t.Run("a daemon that does not look for other kinds", func(t *testing.T) {
		old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"List","items":[]}`)
		}))
		defer old.Close()
		got := netloom(t, "probe", "--server", old.URL, "192.0.2.1->192.0.2.2:80")
		require.Equal(t, exitCannotTell, got.code, got.errout)
		require.Contains(t, got.errout, "may decide on connections, and could not be listed: the kinds of other projects")
	})
	t.Run("where a finding is", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "store.yaml", misnamed)
		found := netloom(t, "lint", "-f", filepath.Join(dir, "store.yaml"))
		require.Contains(t, found.out, "store.yaml:")
		live := netloom(t, "lint", "--server", running(t, dir))
		require.Equal(t, found.code, live.code, live.errout)
		require.Equal(t, strings.Count(found.out, "\n"), strings.Count(live.out, "\n"))
		require.Contains(t, live.out, "NetworkPolicy/store/db: spec.ingress[0].ports[0].port: ")
		require.NotContains(t, live.out, "stdin")
	})
	t.Run("no answer", func(t *testing.T) {
		got := netloom(t, "probe", "--server", "127.0.0.1:1", "shop/web-0->shop/db-0:5432")
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.errout, "--server auto or kubectl port-forward")
	})
	t.Run("two sources", func(t *testing.T) {
		got := netloom(t, "probe", "--server", url, "-f", exampleDir, "shop/web-0->shop/db-0:5432")
		require.Contains(t, got.errout, "expected only one of them")
	})
	for _, flag := range []string{"--context", "--as", "--as-group"} {
		got := netloom(t, "probe", flag, "x", "-f", exampleDir, "shop/web-0->shop/db-0:5432")
		require.Equal(t, exitFailed, got.code, flag)
		require.Contains(t, got.errout, "cannot be used with -f or -k", flag)
	}
}

// api serves as much of a Kubernetes API as finding a daemon takes: a pod of it, and the proxy to that.
func api(t *testing.T, daemonURL string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/pods":
			if r.URL.Query().Get("labelSelector") != "app.kubernetes.io/name=netloom" {
				http.Error(w, "other pods than the daemon's", http.StatusTeapot)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "PodList", "apiVersion": "v1", "items": []any{
				map[string]any{"metadata": map[string]any{"namespace": "net", "name": "old"}, "status": map[string]any{"phase": "Failed"}},
				map[string]any{
					"metadata": map[string]any{"namespace": "net", "name": "netloom-0"}, "status": map[string]any{"phase": "Running"},
					"spec": map[string]any{"containers": []any{map[string]any{"name": "netloom", "ports": []any{
						map[string]any{"name": "debug", "containerPort": 9090},
					}}}},
				},
			}})
		case "/api":
			_, _ = io.WriteString(w, `{"kind": "APIVersions", "versions": []}`)
		case "/apis":
			_, _ = io.WriteString(w, `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`)
		case "/api/v1/namespaces/net/pods/netloom-0/portforward":
			forward(t, w, r, daemonURL)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(strings.ReplaceAll(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "URL"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, "URL", server.URL)), 0o600))
	return kubeconfig
}

// forward acts as a kubelet whose pod answers at daemonURL, whatever the port.
func forward(t *testing.T, w http.ResponseWriter, r *http.Request, daemonURL string) {
	streams := make(chan httpstream.Stream, 8)
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		t.Error(err)
		return
	}
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if connection == nil {
		t.Error("no upgrade")
		return
	}
	for {
		select {
		case <-connection.CloseChan():
			return
		case s := <-streams:
			if s.Headers().Get("port") != "9090" {
				t.Errorf("port %s", s.Headers().Get("port"))
			}
			if s.Headers().Get("streamType") != "data" {
				_ = s.Close() // nothing went wrong
				continue
			}
			pod, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(daemonURL, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			go func() { _, _ = io.Copy(pod, s) }()
			_, _ = io.Copy(s, pod)
			_ = s.Close()
		}
	}
}

func TestADaemonIsFoundInItsCluster(t *testing.T) {
	kubeconfig := api(t, running(t, exampleDir))
	args := []string{"probe", "shop/web-0->shop/db-0:5432"}
	want := netloom(t, append(args, "-f", exampleDir)...)
	want.out = strings.ReplaceAll(want.out, "suggest -f "+exampleDir, "suggest --kubeconfig "+kubeconfig+" --server auto")
	require.Equal(t, want, netloom(t, append(args, "--server", "auto", "--kubeconfig", kubeconfig)...))
}

func TestAsAPluginOfKubectl(t *testing.T) {
	was := os.Args[0]
	t.Cleanup(func() { os.Args[0] = was })
	os.Args[0] = "/usr/local/bin/kubectl-netloom"
	require.Contains(t, netloom(t, "probe", "--help").out, "\n  kubectl netloom probe ")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	got := netloom(t, "probe", "shop/web-0->shop/db-0:5432")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, "none", "it looks for the cluster that kubectl would")
}
