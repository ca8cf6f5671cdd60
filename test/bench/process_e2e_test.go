//go:build e2e

package bench

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/policygen"
)

// Sizes of TestProcessMemory. `make bench` sets a larger one, and docs/operations.md lists those that were measured.
var (
	memoryPods    = flag.Int("memory.pods", 1000, "pods of TestProcessMemory, with a fifth as many policies, at most 1,000")
	memoryLimit   = flag.String("memory.limit", "off", "GOMEMLIMIT of the process that TestProcessMemory measures")
	memoryAgainst = flag.String("memory.against", "", "another netloom program that TestProcessMemory measures too")
)

// processPatience is how long a process may take to bring a large database up to date.
const processPatience = 20 * time.Minute

// TestProcessMemory prints how much memory the program takes for a cluster that it reads from an HTTP API server: at most, and
// when everything is in place, in an empty database and after a restart.
func TestProcessMemory(t *testing.T) {
	if !ovsdbtest.Available() {
		t.Skip("no ovsdb-server is installed")
	}
	program := filepath.Join(t.TempDir(), "netloom")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "../../cmd/netloom")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the image
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	cluster := policygen.Workload(*memoryPods)
	cluster.Policies = cluster.Policies[:min(len(cluster.Policies), 1000)]
	kubeconfig := writeKubeconfig(t, serveCluster(t, cluster))
	programs := []string{program}
	if *memoryAgainst != "" {
		programs = []string{*memoryAgainst, program}
	}
	t.Logf("W(%d), %d policies, GOMEMLIMIT=%s, load %s", *memoryPods, len(cluster.Policies), *memoryLimit, load())
	t.Log("| program | database | peak | peak for a pod | when ready | without the program's file | CPU |")
	for _, program := range programs {
		process, err := ovsdbtest.StartProcess(t.Context(), t.TempDir(), schema.NB2303())
		require.NoError(t, err)
		client, stop := connect(t, process.Addr())
		makePorts(t, client, cluster)
		stop()
		for _, database := range []string{"empty", "restart"} {
			u := measure(t, program, kubeconfig, process.Addr())
			t.Logf("| %s | %s | %d MiB | %.1f KiB | %d MiB | %d MiB | %.1f s |", filepath.Base(program), database, u.peak>>20,
				float64(u.peak)/float64(*memoryPods)/1024, u.ready>>20, u.anonymous>>20, u.cpu.Seconds())
		}
		require.NoError(t, process.Stop())
	}
}

// connect connects a client until stop is called.
func connect(tb testing.TB, endpoint string) (client *ovsdb.Client, stop func()) {
	tb.Helper()
	client, err := ovsdb.New(ovsdb.Options{Endpoints: []string{endpoint}})
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- client.Run(ctx) }()
	require.Eventually(tb, client.Connected, patience, time.Millisecond)
	return client, func() {
		cancel()
		<-done
	}
}

// usage is what a process took.
type usage struct {
	peak, ready int64 // resident bytes, at most and when the target was in sync
	anonymous   int64 // of the latter: those that are not pages of the program's file
	cpu         time.Duration
}

// measure runs a program until its target is in sync.
func measure(t *testing.T, program, kubeconfig, endpoint string) usage {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	run := exec.CommandContext(t.Context(), program, "run", "--kubeconfig", kubeconfig, "--ovn-nb", endpoint, "--owner", "bench",
		"--listen", "", "--debug-listen", address, "--log-level", "warning")
	run.Env = append(os.Environ(), "GOMEMLIMIT="+*memoryLimit)
	var log bytes.Buffer
	run.Stderr = &log
	require.NoError(t, run.Start())
	require.Eventually(t, func() bool { return answers(t, "http://"+address+"/readyz") }, processPatience, 100*time.Millisecond, "%s", &log)
	pid := run.Process.Pid
	u := usage{peak: statusOf(t, pid, "VmHWM"), ready: statusOf(t, pid, "VmRSS"), anonymous: statusOf(t, pid, "RssAnon")}
	require.NoError(t, run.Process.Signal(os.Interrupt))
	_ = run.Wait() // its status is that of a signal
	u.cpu = run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	return u
}

func answers(t *testing.T, url string) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK
}

// statusOf reads a size in bytes from /proc.
func statusOf(t *testing.T, pid int, field string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			require.NoError(t, err)
			return kib << 10
		}
	}
	require.Fail(t, "no "+field)
	return 0
}

// load returns the load averages of the machine.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// writeKubeconfig writes a file by which a client finds an API server without authentication.
func writeKubeconfig(t *testing.T, url string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: bench, cluster: {server: %q}}]
users: [{name: bench, user: {}}]
contexts: [{name: bench, context: {cluster: bench, user: bench}}]
current-context: bench
`, url), 0o600))
	return file
}
