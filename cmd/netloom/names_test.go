package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamesInAllNamespaces asks about names without a namespace.
func TestNamesInAllNamespaces(t *testing.T) {
	got := netloom(t, "probe", "-f", exampleDir, "-A", "web-0->db-0:5432")
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Contains(t, got.out, "shop/web-0 -> shop/db-0 tcp/5432")
	got = netloom(t, "probe", "-f", exampleDir, "-A", "app=web->svc/api")
	require.Contains(t, got.out, "svc/shop/api", got.errout)
	got = netloom(t, "explain", "-f", exampleDir, "-A", "pod/web-0")
	require.Contains(t, got.out, "pod shop/web-0", got.errout)
	got = netloom(t, "explain", "-f", exampleDir, "-A", "netpol/db")
	require.Contains(t, got.out, "networkpolicy shop/db", got.errout)

	twice := t.TempDir()
	write(t, twice, "pods.yaml", servedPods+"---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-0, namespace: other}\nstatus: {podIP: 10.244.0.30}\n")
	got = netloom(t, "explain", "-f", twice, "-A", "pod/web-0")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, "pod web-0: expected a namespace: there is one in other and shop")
	got = netloom(t, "probe", "-f", twice, "-A", "web-0->db-0:80", "-o", "jsonpath={.answers[*].from}")
	require.Equal(t, "other/web-0 shop/web-0\n", got.out, "a pod of each namespace")
	got = netloom(t, "probe", "-f", twice, "-A", "-n", "shop", "web-0->db-0:80")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, "all-namespaces")
	require.Contains(t, netloom(t, "probe", "-f", twice, "web-0->db-0:80").errout, "expected NAMESPACE/NAME")
}

// TestNamesAsOutput lists objects as other commands take them.
func TestNamesAsOutput(t *testing.T) {
	got := netloom(t, "translate", "-f", exampleDir, "-o", "name")
	require.Contains(t, got.out, "networkpolicy/shop/db\n")
	require.Contains(t, got.out, "service/shop/api\n")
	got = netloom(t, "probe", "-f", exampleDir, "shop/api-0->shop/db-0:5432", "-o", "name")
	require.Equal(t, "networkpolicy/shop/api\nnetworkpolicy/shop/db\n", got.out)
	got = netloom(t, "probe", "-f", exampleDir, "shop/web-0->shop/db-0:5432", "-o", "name")
	require.Contains(t, got.out, "networkpolicy/shop/default-deny\n", "those that isolate")
	require.Equal(t, exitDone, netloom(t, "explain", "-f", exampleDir, "networkpolicy/shop/default-deny").code)
	got = netloom(t, "lint", "-f", filepath.Join("..", "..", "docs", "commands", "mistakes.yaml"), "-o", "name")
	require.Regexp(t, `(?m)^networkpolicy/[a-z-]+/[a-z-]+$`, got.out)
}

// TestCompletionOfNames completes namespaces, ends of connections and policies.
func TestCompletionOfNames(t *testing.T) {
	complete := func(args ...string) string { return netloom(t, append([]string{"__complete"}, args...)...).out }
	require.Equal(t, "shop\n:4\n", complete("probe", "-f", exampleDir, "-n", "sh"))
	require.Contains(t, complete("probe", "-f", exampleDir, "shop/web"), "shop/web-0\nshop/web-1\n")
	require.Contains(t, complete("probe", "-f", exampleDir, "shop/web-0->service/shop/a"), "shop/web-0->service/shop/api\n")
	require.Contains(t, complete("suggest", "-f", exampleDir, "shop/web-0->shop/d"), "shop/web-0->shop/db-0\n")
	require.Equal(t, "networkpolicy/shop/db\n:4\n", complete("impact", "-f", exampleDir, "--without", "networkpolicy/shop/db"))
	require.Contains(t, complete("plan", "-f", exampleDir, "--without", "networkpolicy/shop/w"), "networkpolicy/shop/web\n")
}

// TestReadingAsAnotherUser looks at what an API server is asked for.
func TestReadingAsAnotherUser(t *testing.T) {
	api := objectsAPI(t, exampleDir)
	var user, group string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, group = r.Header.Get("Impersonate-User"), r.Header.Get("Impersonate-Group")
		http.Redirect(w, r, api+r.URL.String(), http.StatusTemporaryRedirect)
	}))
	t.Cleanup(proxy.Close)
	dir := t.TempDir()
	write(t, dir, "config", kubeconfigOf(proxy.URL))
	args := []string{"probe", "--kubeconfig", filepath.Join(dir, "config"), "shop/web-0->shop/db-0:5432"}
	got := netloom(t, append(args, "--as", "jane", "--as-group", "auditors")...)
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Equal(t, "jane", user)
	require.Equal(t, "auditors", group)
	require.Equal(t, exitDiffers, netloom(t, args...).code)
	require.Empty(t, user)
}
