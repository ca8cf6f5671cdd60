//go:build e2e

package e2ekube_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// TestClusterToPlayWith raises what `make cluster` raises, uses it by what it printed, and takes it down by a signal.
func TestClusterToPlayWith(t *testing.T) {
	t.Parallel()
	netloom, err := buildOnce()
	require.NoError(t, err)
	dir := t.TempDir()
	program := filepath.Join(dir, "cluster")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "e2e", "-o", program, "./cluster").CombinedOutput()
	require.NoError(t, err, string(out))
	p := ovnlab.Spawn(t, filepath.Join(dir, "cluster.log"), append(os.Environ(), "TMPDIR="+dir), program,
		"-kubeapi", *kubeapiFlag, "-netloom", netloom, "-overlay", deployDir+"/overlays/central")
	await.True(t, func() bool {
		select {
		case <-p.Exited():
			require.FailNow(t, "the cluster ended", p.Tail(30))
		default:
		}
		return strings.Contains(p.Tail(100), "Ctrl-C takes it down.")
	}, "the cluster is up")
	said := regexp.MustCompile(`KUBECONFIG=(\S+)`).FindStringSubmatch(p.Tail(100))
	require.Len(t, said, 2)
	kubeconfig := said[1]
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	policies, err := client.NetworkingV1().NetworkPolicies("shop").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, policies.Items)

	said = regexp.MustCompile(`kubectl --kubeconfig (\S+) `).FindStringSubmatch(p.Tail(100))
	require.Len(t, said, 2)
	guarded, err := clientcmd.BuildConfigFromFlags("", said[1])
	require.NoError(t, err)
	require.NotEqual(t, config.Host, guarded.Host)
	through, err := kubernetes.NewForConfig(guarded)
	require.NoError(t, err)
	await.True(t, func() bool {
		same, err := through.NetworkingV1().NetworkPolicies("shop").List(t.Context(), metav1.ListOptions{})
		return err == nil && len(same.Items) == len(policies.Items)
	}, "the gateway serves the API server")

	objects, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	await.True(t, func() bool {
		statuses, err := objects.Resource(v1alpha1.GroupVersion.WithResource("policystatuses")).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(statuses.Items) >= len(policies.Items)
	}, "policies have a status")

	probe := exec.CommandContext(t.Context(), netloom, "probe", "--server", "auto", "shop/web-0->shop/api-0:tcp/api")
	probe.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	answer, err := probe.CombinedOutput()
	require.NoError(t, err, string(answer))
	require.Contains(t, string(answer), "allow")

	said = regexp.MustCompile(`OVN_NB_DB=(\S+)`).FindStringSubmatch(p.Tail(100))
	require.Len(t, said, 2)
	list := exec.CommandContext(t.Context(), "ovn-nbctl", "--timeout=10", "--bare", "--columns=name", "find", "Port_Group", `external_ids:"netloom.io/owner"=netloom`)
	list.Env = append(os.Environ(), "OVN_NB_DB="+said[1])
	rows, err := list.CombinedOutput()
	require.NoError(t, err, string(rows))
	require.NotEmpty(t, strings.TrimSpace(string(rows)), "netloom has written")

	walkThrough(t, kubeconfig, said[1], netloom, dir)

	require.NoError(t, p.Signal(syscall.SIGINT))
	<-p.Exited()
	require.Zero(t, p.ExitCode(), p.Tail(30))
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "bin"), program, filepath.Join(dir, "cluster.log")}, left, "nothing is left behind")
}

// walkThrough runs the commands of the docs for this cluster.
func walkThrough(t *testing.T, kubeconfig, nb, netloom, dir string) {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o700))
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "kubectl")))
	require.NoError(t, os.Symlink(netloom, filepath.Join(bin, "netloom")))
	run := func(line string) (code int, printed string) {
		cmd := exec.CommandContext(await.Context(t), "sh", "-c", line)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+kubeconfig, "OVN_NB_DB="+nb)
		out, err := cmd.CombinedOutput()
		t.Logf("%s\n%s", line, out)
		var exit *exec.ExitError
		require.True(t, err == nil || errors.As(err, &exit), "%v", err)
		return cmd.ProcessState.ExitCode(), string(out)
	}
	const differs = 2
	said := map[string][]string{} // by command, in order
	for _, page := range []string{"staged.md", "readiness.md"} {
		for _, line := range commandsFor(t, page) {
			code, out := run(line)
			if strings.Contains(line, "impact") {
				require.Equal(t, differs, code, "%s: %s", line, out)
			} else if !strings.Contains(line, "probe") {
				require.Zero(t, code, "%s: %s", line, out)
			}
			word := strings.Fields(line)[1]
			said[word] = append(said[word], out)
		}
	}
	require.Contains(t, said["impact"][0], "- shop/api-0, shop/api-1 -> shop/db-0: tcp/5432")
	require.Contains(t, said["observe"][0], "would be denied for ingress")
	require.Contains(t, said["suggest"][0], "name: allow-db-from-api")
	require.Len(t, said["probe"], 2)
	require.Contains(t, said["probe"][0], "would be denied by staged NetworkPolicy/shop/db-staged")
	require.Regexp(t, `(?m)^allow `, said["probe"][0])
	require.Regexp(t, `(?m)^deny `, said["probe"][1])
	require.Contains(t, said["-n"][1], "condition met")
}

// commandsFor lists the commands of the first block of a page after it names make cluster.
func commandsFor(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "`make cluster` starts")
	require.True(t, ok)
	_, rest, ok = strings.Cut(rest, "```sh\n")
	require.True(t, ok)
	block, _, ok := strings.Cut(rest, "\n```")
	require.True(t, ok)
	return strings.Split(block, "\n")
}
