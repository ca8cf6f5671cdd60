package footprint

import (
	"bytes"
	"fmt"
	"io"
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

	"github.com/netloom/netloom/test/await"
)

// Usage is what a process took.
type Usage struct {
	Peak  int64 // resident bytes, at most
	Ready int64 // resident bytes when the target was in sync and they did not change any more
	Anon  int64 // of Peak: those that are not pages of the program's file, looked at ten times a second
	Heap  int64 // bytes that are live on Go's heap when the target was in sync
	CPU   time.Duration
}

// Build builds the program as the image has it, except for -trimpath, which would compile everything again, and returns its path. The source is the directory of the module.
func Build(t *testing.T, source string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "netloom")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "kustomize_disable_go_plugin_support", "-ldflags", "-s -w", //nolint:gosec // G204: a file of the test.
		"-o", program, "./cmd/netloom")
	build.Dir = source
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// Measure runs a program with a GOMEMLIMIT over the cluster of an API server until the database at endpoint is in sync.
func Measure(t *testing.T, program, url, endpoint, limit string) Usage {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	run := exec.CommandContext(t.Context(), program, "run", "--kubeconfig", writeKubeconfig(t, url), "--ovn-nb", endpoint, "--owner", "bench", //nolint:gosec // G204: the program that is measured.
		"--listen", "", "--debug-listen", address, "--pprof", "--log-level", "warning")
	run.Env = append(os.Environ(), "GOMEMLIMIT="+limit)
	var log bytes.Buffer
	run.Stderr = &log
	require.NoError(t, run.Start())
	pid := run.Process.Pid
	u := Usage{}
	await.True(t, func() bool {
		u.Anon = max(u.Anon, statusOf(t, pid, "RssAnon"))
		_, ready := get(t, "http://"+address+"/readyz")
		return ready
	}, "%s", &log)
	u.Ready = settled(t, pid)
	u.Peak = statusOf(t, pid, "VmHWM")
	u.Heap = liveHeap(t, address)
	require.NoError(t, run.Process.Signal(os.Interrupt))
	_ = run.Wait() // its status is that of a signal
	u.CPU = run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	return u
}

// settled waits until the resident memory of a process stays for three seconds, and returns it.
func settled(t *testing.T, pid int) int64 {
	t.Helper()
	var last int64
	for same := 0; same < 30; same++ {
		time.Sleep(100 * time.Millisecond) // pause: for measuring, no test asserts the time
		if now := statusOf(t, pid, "VmRSS"); max(now-last, last-now) > 1<<20 {
			last, same = now, 0
		}
	}
	return last
}

// liveHeap has a process collect its garbage and returns what is left.
func liveHeap(t *testing.T, address string) int64 {
	t.Helper()
	profile, ok := get(t, "http://"+address+"/debug/pprof/heap?gc=1&debug=1")
	require.True(t, ok, "%s", profile)
	_, rest, found := strings.Cut(profile, "# HeapAlloc = ")
	require.True(t, found, "the profile ends with the statistics of the heap")
	number, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseInt(number, 10, 64)
	require.NoError(t, err)
	return n
}

// get returns what a server answers, and whether it is OK.
func get(t *testing.T, url string) (body string, ok bool) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error(), false
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err == nil && response.StatusCode == http.StatusOK
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
