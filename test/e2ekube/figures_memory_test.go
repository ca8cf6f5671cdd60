//go:build e2e

package e2ekube_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/test/bench/figures"
	"github.com/netloom/netloom/test/bench/footprint"
	"github.com/netloom/netloom/test/policygen"
)

// memoryLimit is what the program sets in a container with 768 MiB.
const memoryLimit = "690MiB"

// memory measures the first start of a process by itself: over a small API server, because a real one would take hours to fill.
func memory(t *testing.T) []figures.Figure {
	t.Helper()
	if *memoryFlag == "" {
		return nil
	}
	sizes, err := figures.Sizes(*memoryFlag)
	require.NoError(t, err)
	program, err := buildOnce()
	require.NoError(t, err)
	schema, err := os.ReadFile("/usr/share/ovn/ovn-nb.ovsschema")
	require.NoError(t, err)
	var all []figures.Figure
	for _, pods := range sizes {
		cluster := policygen.WorkloadWithServices(pods)
		cluster.Policies = cluster.Policies[:min(len(cluster.Policies), figuresPolicies)]
		db, err := ovsdbtest.StartProcess(t.Context(), t.TempDir(), schema)
		require.NoError(t, err)
		(&load{cluster: cluster}).makePorts(t, db.Addr())
		u := footprint.Measure(t, program, footprint.Serve(t, cluster), db.Addr(), memoryLimit)
		require.NoError(t, db.Stop())
		at := func(n int, limit float64) *float64 {
			if pods != n {
				return nil
			}
			return &limit
		}
		each := func(n int64) float64 { return float64(n) / float64(pods) / 1024 }
		all = append(all,
			figures.Figure{
				Pods: pods, Name: "memory: live Go heap for each pod", Measured: each(u.Heap), Unit: "KiB", AtMost: at(50000, 3),
				Meaning: fmt.Sprintf("with %d policies and %d Services", len(cluster.Policies), len(cluster.Services)),
			},
			figures.Figure{Pods: pods, Name: "… resident for each pod", Measured: each(u.Ready), Unit: "KiB", AtMost: at(50000, 6), Meaning: "when the first start is in sync"},
			figures.Figure{
				Pods: pods, Name: "… resident, at most", Measured: mebibytes(u.Peak), Unit: "MiB", AtMost: at(100000, 768),
				Meaning: fmt.Sprintf("%.0f MiB without pages of the program's file; GOMEMLIMIT=%s", mebibytes(u.Anon), memoryLimit),
			})
	}
	return all
}

// newSelectors compares a new selector in a cluster of 100,000 pods with one in 1,000, by the benchmarks of the label cache: one that
// selects as many pods in both, and one that selects a tenth of all.
func newSelectors(t *testing.T) []figures.Figure {
	t.Helper()
	const limit = 1.2
	one := figures.Figure{Name: "a new selector of a namespace, 100,000 pods against 1,000", AtMost: new(limit), Meaning: "ratio of the times of the label cache alone"}
	wide := figures.Figure{Name: "a new cluster-wide selector, for each member", AtMost: new(limit), Meaning: "the same, with a hundred times the members"}
	if !*selectorsFlag {
		one.Missing, wide.Missing = "left out without -selectors", "left out without -selectors"
		return []figures.Figure{one, wide}
	}
	bench := exec.CommandContext(t.Context(), "go", "test", "-run", "^$", "-bench", "^BenchmarkSelectorAdd", "-benchtime", "2000x", "-count", "5", "./labelcache")
	bench.Dir = root
	out, err := bench.CombinedOutput()
	require.NoError(t, err, "%s", out)
	best := map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^(BenchmarkSelectorAdd\w*/pods=\d+)\S*\s+\d+\s+([\d.]+) ns/op`).FindAllStringSubmatch(string(out), -1) {
		took, err := strconv.ParseFloat(m[2], 64)
		require.NoError(t, err)
		if known, ok := best[m[1]]; !ok || took < known {
			best[m[1]] = took
		}
	}
	ratio := func(name string) float64 {
		few, many := best[name+"/pods=1000"], best[name+"/pods=100000"]
		require.Positive(t, few, "%s: %s", name, out)
		require.Positive(t, many, "%s: %s", name, out)
		return many / few
	}
	one.Measured, wide.Measured = ratio("BenchmarkSelectorAdd"), ratio("BenchmarkSelectorAddClusterWide")/100
	return []figures.Figure{one, wide}
}
