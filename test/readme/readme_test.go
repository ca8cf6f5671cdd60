package readme

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/inmem"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
)

// patience is how long a command may take, a first build included.
const patience = 5 * time.Minute

const root = "../.."

// commands lists the lines of the shell blocks of the README.
func commands(t *testing.T) []string {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	var out []string
	for i, block := range strings.Split(string(text), "```") {
		if shell, ok := strings.CutPrefix(block, "sh\n"); ok && i%2 == 1 {
			out = append(out, strings.Split(strings.TrimSpace(shell), "\n")...)
		}
	}
	return out
}

// TestCommands runs every command of the README, in order, against a database of its own. What would not end by itself
// is checked to be up and then ended; what would run this very test is only looked up.
func TestCommands(t *testing.T) {
	server, err := inmem.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(server.Close)
	require.NoError(t, server.AddSwitch("node-a"))
	for _, pod := range []string{
		"shop_web-0", "shop_web-1", "shop_api-0", "shop_api-1", "shop_db-0", "monitoring_prometheus-0", "kube-system_coredns-0",
	} {
		require.NoError(t, server.AddPort("node-a", pod, nil)) // as a network plugin would
	}
	env := append(os.Environ(), "OVN_NB="+server.Addr(), "KUBECONFIG="+kubeconfig(t), "NETLOOM_LISTEN=")

	all := commands(t)
	require.NotEmpty(t, all)
	for _, line := range all {
		t.Run(line, func(t *testing.T) {
			switch {
			case line == "make test", line == "make cluster": // test/e2ekube raises the cluster
				shell(t, env, "make -n "+strings.TrimPrefix(line, "make "))
			case line == "make demo":
				require.Contains(t, shell(t, env, "make -s demo ARGS=--once"), "Can A reach B?")
			case strings.HasPrefix(line, "git clone "): // this checkout stands for the clone
			case strings.HasPrefix(line, "go install "):
				installed := strings.TrimSuffix(strings.TrimPrefix(line, "go install "), "@latest")
				require.Equal(t, "main\n", shell(t, env, "go list -f '{{.Name}}' "+installed))
			case strings.HasPrefix(line, "kubectl apply -k "): // test/e2ekube applies what the directory renders to
				dir := strings.TrimPrefix(line, "kubectl apply -k github.com/netloom/netloom/")
				require.FileExists(t, filepath.Join(root, dir, "kustomization.yaml"))
			case strings.HasSuffix(line, "--dry-run"):
				shell(t, env, line+"; test $? = 2")
			case strings.HasPrefix(line, "bin/netloom probe "):
				require.Contains(t, shell(t, env, line+"; test $? = 2"), "to allow it:")
			case strings.HasPrefix(line, "bin/netloom run") && !strings.HasSuffix(line, "-config"):
				require.Contains(t, shell(t, env, "timeout -s INT 3 "+line+" 2>&1; test $? = 124"), "has stopped")
			default:
				shell(t, env, line)
			}
		})
	}
	require.Contains(t, server.Dump("ACL"), "shop/web ingress[0]")
}

func shell(t *testing.T, env []string, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir, cmd.Env = root, env
	out, err := cmd.CombinedOutput()
	require.NoErrorf(t, err, "%s:\n%s", line, out)
	return string(out)
}

// kubeconfig points to an API server that does not run: the daemon then waits for it and says so.
func kubeconfig(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(`apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
users: [{name: none, user: {}}]
current-context: none
`), 0o600))
	return path
}
