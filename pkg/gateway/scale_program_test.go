package gateway_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

var scaleProgram = flag.String("scale.program", "", "a netloom that serves as the gateway, in a process of its own; empty serves in this one")

// program is a gateway in a process of its own, whose processor time and memory are those of the gateway alone.
type program struct {
	t  *testing.T
	id int
}

// serving is the line of the log that has the address.
var serving = regexp.MustCompile(`"address":"([^"]+)".*"serving clusters"`)

// startProgram serves clusters, and returns the address.
func startProgram(t *testing.T, ca *authority, clusters []*v1alpha1.UpstreamCluster) (p *program, address string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(t, os.WriteFile(at, text, 0o600))
		return at
	}
	for _, c := range clusters {
		c.APIVersion, c.Kind = v1alpha1.GroupVersion.String(), "UpstreamCluster"
		text, err := json.Marshal(c)
		require.NoError(t, err)
		write("clusters/"+c.Name+".json", text)
	}
	cert, key := ca.issue("gateway", nil, "*.example")
	return launch(t, *scaleProgram, "gateway", "--clusters", filepath.Join(dir, "clusters"),
		"--tls-cert", write("tls.crt", cert), "--tls-key", write("tls.key", key), "--listen", "127.0.0.1:0", "--metrics-listen=", "--log-format", "json")
}

// launch starts a program, and returns the address that it logs.
func launch(t *testing.T, name string, args ...string) (p *program, address string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(log)
	for address == "" && lines.Scan() {
		if found := serving.FindStringSubmatch(lines.Text()); found != nil {
			address = found[1]
		}
	}
	require.NotEmpty(t, address, "%s has ended before it serves", name)
	go func() {
		for lines.Scan() { // so that it can log
		}
	}()
	return &program{t, cmd.Process.Pid}, address
}

// read returns a file of /proc/PID.
func (p *program) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.id, name))
	require.NoError(p.t, err)
	return string(text)
}

// cpu is the processor time that it has taken.
func (p *program) cpu() (total time.Duration) {
	p.t.Helper()
	const tick = 10 * time.Millisecond
	for _, field := range strings.Fields(p.read("stat"))[13:15] { // utime and stime
		n, err := strconv.Atoi(field)
		require.NoError(p.t, err)
		total += time.Duration(n) * tick
	}
	return total
}

// memory is its resident memory in bytes.
func (p *program) memory() int64 {
	p.t.Helper()
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindStringSubmatch(p.read("status"))
	require.NotNil(p.t, found)
	kilobytes, err := strconv.ParseInt(found[1], 10, 64)
	require.NoError(p.t, err)
	return kilobytes << 10
}
