package readme

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
)

const root = "../.."

// examplePods are those of examples/, as NAMESPACE/NAME.
var examplePods = []string{
	"shop/web-0", "shop/web-1", "shop/api-0", "shop/api-1", "shop/db-0", "monitoring/prometheus-0", "kube-system/coredns-0",
}

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
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(server.Close)
	require.NoError(t, server.AddSwitch("node-a"))
	for _, pod := range examplePods {
		require.NoError(t, server.AddPort("node-a", strings.Replace(pod, "/", "_", 1), nil)) // as a network plugin would
	}
	env := append(os.Environ(), "OVN_NB="+server.Addr(), "KUBECONFIG="+kubeconfig(t), "NETLOOM_LISTEN=")

	all := commands(t)
	require.NotEmpty(t, all)
	for _, line := range all {
		t.Run(line, func(t *testing.T) {
			switch {
			case line == "make test": // this is it
				require.NotEmpty(t, readMakefile(t).commands(t, "test", nil))
			case line == "make cluster": // test/e2ekube raises it
				require.NotEmpty(t, readMakefile(t).rules["cluster"].recipe)
			case line == "make demo":
				commands := readMakefile(t).commands(t, "demo", map[string]string{"ARGS": "--once"})
				require.Contains(t, shell(t, env, strings.Join(commands, " && ")), "Can A reach B?")
			case strings.HasPrefix(line, "make "):
				shell(t, env, strings.Join(readMakefile(t).commands(t, strings.TrimPrefix(line, "make "), nil), " && "))
			case strings.HasPrefix(line, "git clone "): // this checkout stands for the clone
			case strings.HasPrefix(line, "go install "):
				installed := strings.TrimSuffix(strings.TrimPrefix(line, "go install "), "@latest")
				require.Equal(t, "main\n", shell(t, env, "go list -f '{{.Name}}' "+installed))
			case strings.HasPrefix(line, "kubectl apply -k "): // test/e2ekube applies what the directory renders to
				dir := strings.TrimPrefix(line, "kubectl apply -k github.com/netloom/netloom/")
				require.FileExists(t, filepath.Join(root, dir, "kustomization.yaml"))
			case strings.HasSuffix(line, "--dry-run"):
				shell(t, env, "! "+line)
			case strings.HasPrefix(line, "bin/netloom probe "):
				require.Contains(t, shell(t, env, line+"; test $? = 2"), "to allow it:")
			case strings.HasPrefix(line, "bin/netloom run") && !strings.HasSuffix(line, "-config"):
				require.Contains(t, interrupted(t, env, line), "has stopped")
			default:
				shell(t, env, line)
			}
		})
	}
	require.Contains(t, server.Dump("ACL"), "shop/web ingress[0]")
}

func shell(t *testing.T, env []string, line string) string {
	t.Helper()
	cmd := exec.CommandContext(await.Context(t), "sh", "-c", line)
	cmd.Dir, cmd.Env = root, env
	out, err := cmd.CombinedOutput()
	require.NoErrorf(t, err, "%s:\n%s", line, out)
	return string(out)
}

// interrupted starts a command, presses Ctrl-C once it has printed something, and returns all that it prints.
func interrupted(t *testing.T, env []string, line string) string {
	t.Helper()
	cmd := exec.CommandContext(await.Context(t), "sh", "-c", "exec "+line)
	cmd.Dir, cmd.Env = root, env
	out, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, 130, exit.ExitCode(), "%s:\n%s%s", line, first, rest)
	return first + string(rest)
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
