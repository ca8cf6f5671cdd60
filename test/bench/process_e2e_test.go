//go:build e2e

package bench

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/bench/figures"
	"github.com/netloom/netloom/test/bench/footprint"
	"github.com/netloom/netloom/test/policygen"
)

// Sizes of TestProcessMemory. `make bench` sets a larger one, and docs/operations.md lists those that were measured.
var (
	memoryPods     = flag.String("memory.pods", "1000", "pods of each cluster of TestProcessMemory, separated by commas; a tenth as many Services of 5 endpoints")
	memoryPolicies = flag.Int("memory.policies", 1000, "its policies: at most so many, and a fifth of the pods")
	memoryLimit    = flag.String("memory.limit", "off", "GOMEMLIMIT of the process that TestProcessMemory measures")
	memoryAgainst  = flag.String("memory.against", "", "another netloom program that TestProcessMemory measures too")
)

// TestProcessMemory prints how much memory the program takes for a cluster that it reads from an HTTP API server: at most, and
// when everything is in place, in an empty database and after a restart.
func TestProcessMemory(t *testing.T) {
	if !ovsdbtest.Available() {
		t.Skip("no ovsdb-server is installed")
	}
	programs := []string{footprint.Build(t, "../..")}
	if *memoryAgainst != "" {
		programs = append([]string{*memoryAgainst}, programs...)
	}
	sizes, err := figures.Sizes(*memoryPods)
	require.NoError(t, err)
	t.Logf("GOMEMLIMIT=%s, load %s", *memoryLimit, load())
	t.Log("| pods | policies | program | database | peak | anonymous of it | when ready | Go heap | peak for a pod | heap for a pod | CPU |")
	for _, pods := range sizes {
		cluster := policygen.WorkloadWithServices(pods)
		cluster.Policies = cluster.Policies[:min(len(cluster.Policies), *memoryPolicies)]
		url := footprint.Serve(t, cluster)
		for _, program := range programs {
			process, err := ovsdbtest.StartProcess(t.Context(), t.TempDir(), schema.NB2303())
			require.NoError(t, err)
			client, stop := connect(t, process.Addr())
			makePorts(t, client, cluster)
			stop()
			for _, database := range []string{"empty", "restart"} {
				u := footprint.Measure(t, program, url, process.Addr(), *memoryLimit)
				t.Logf("| %d | %d | %s | %s | %d MiB | %d MiB | %d MiB | %d MiB | %.1f KiB | %.1f KiB | %.1f s |", pods, len(cluster.Policies),
					filepath.Base(program), database, u.Peak>>20, u.Anon>>20, u.Ready>>20, u.Heap>>20, float64(u.Peak)/float64(pods)/1024,
					float64(u.Heap)/float64(pods)/1024, u.CPU.Seconds())
			}
			require.NoError(t, process.Stop())
		}
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
	await.True(tb, client.Connected, "the client is connected")
	return client, func() {
		cancel()
		<-done
	}
}

// load returns the load averages of the machine.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
