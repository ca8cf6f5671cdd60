package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFlagsOfKubectl tries the flags that users of kubectl know, on manifests in a directory and one below it.
func TestFlagsOfKubectl(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "below"), 0o700))
	write(t, dir, "pods.yaml", servedPods)
	write(t, filepath.Join(dir, "below"), "policy.yaml", denyDatabase)

	got := netloom(t, "--version")
	require.Equal(t, exitDone, got.code)
	require.Equal(t, "netloom version "+netloom(t, "version").out, got.out)

	const question = "shop/web-0->shop/db-0:5432"
	for _, args := range [][]string{{}, {"-R"}, {"--recursive=true"}} {
		require.Equal(t, exitDiffers, netloom(t, append([]string{"probe", "-f", dir, question}, args...)...).code, "%q", args)
	}
	require.Equal(t, exitDone, netloom(t, "probe", "-f", dir, "-R=false", question).code, "the policy is below")

	with := netloom(t, "translate", "-f", dir).out
	head, rest, _ := strings.Cut(with, "\n")
	require.True(t, strings.HasPrefix(head, "POLICY"), head)
	bare := netloom(t, "translate", "-f", dir, "--no-headers").out
	require.Equal(t, strings.Fields(rest), strings.Fields(bare))
	require.NotContains(t, netloom(t, "audit", "-f", dir, "--no-headers").out, "NAMESPACE")
}

// TestSelectorsOfPods lists connections and isolation of pods with some labels.
func TestSelectorsOfPods(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	list := func(args ...string) string {
		return netloom(t, append([]string{"connections", "-f", exampleDir, "-o", "csv"}, args...)...).out
	}
	require.Equal(t, list("--from", "shop/app=db"), list("-l", "app=db", "--from", "shop/app=db"))
	require.Contains(t, list("-l", "app in (db)"), "shop/db-0")
	require.NotContains(t, list("-l", "app in (db)"), "shop/web-0")
	require.NotContains(t, list("-l", "app", "-n", "monitoring"), "shop/web-0,shop/api-0")

	got := netloom(t, "audit", "-f", exampleDir, "-l", "app=web", "-o", "json")
	require.Equal(t, exitDone, got.code, got.errout)
	require.Contains(t, got.out, `"name": "web-0"`)
	require.NotContains(t, got.out, `"name": "db-0"`)
	require.Contains(t, netloom(t, "audit", "-f", exampleDir, "-l", "app=web").out, "all        2")

	for _, command := range []string{"audit", "connections"} {
		got = netloom(t, command, "-f", exampleDir, "-l", "app in")
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.errout, `--selector: "app in": expected labels such as app=web,tier!=db`)
	}
	got = netloom(t, "connections", "-f", exampleDir, "-l", "app=none")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, `--selector: "app=none": no pod with these labels`)
	require.Equal(t, exitCannotTell, netloom(t, "audit", "-f", exampleDir, "-l", "app=none").code)
}

// TestCompletionByKind completes names after any word for a kind, with a slash or as a second argument.
func TestCompletionByKind(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"netpol/shop/d"}, "netpol/shop/db\nnetpol/shop/default-deny\n:4\n"},
		{[]string{"po/shop/web"}, "po/shop/web-0\npo/shop/web-1\n:4\n"},
		{[]string{"svc", "shop/a"}, "shop/api\n:4\n"},
		{[]string{"-n", "shop", "netpol", "d"}, "db\ndefault-deny\n:4\n"},
		{[]string{"-n", "shop", "netpol/d"}, "netpol/db\nnetpol/default-deny\n:4\n"},
		{[]string{"netpol", "shop/db", "s"}, ":4\n"},
	} {
		got := netloom(t, append([]string{"__complete", "explain", "-f", exampleDir}, tc.args...)...)
		require.Equal(t, tc.want, got.out, "%q", tc.args)
	}
	workloads := filepath.Join("testdata", "inputs", "workloads")
	require.Contains(t, netloom(t, "__complete", "explain", "-f", workloads, "deployment/store/").out, "deployment/store/web\n")
	require.Contains(t, netloom(t, "__complete", "explain", "-f", workloads, "sts", "").out, "store/db\n")
}
