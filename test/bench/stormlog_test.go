package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/policygen"
)

// target is what an operation changes: a row.
type target struct{ table, name string }

// TestAStormWritesEachSetOncePerTransaction relabels pods and namespaces, and writes a varying number of changes together. Whatever sets they
// change, a transaction has one operation for each row, with all members that join and leave, each once.
func TestAStormWritesEachSetOncePerTransaction(t *testing.T) {
	_, cluster, r := newWorkload(t)
	r.sync(t)
	both := 0
	for i, batch := 0, 1; i < stormChanges; batch = batch%60 + 7 {
		for range batch {
			storm(t, r, cluster, i)
			i++
		}
		seen := map[target]bool{}
		for _, op := range r.follow(t).Ops {
			row := target{op.Kind, op.Name}
			require.False(t, seen[row], "%s has two operations", op.Name)
			seen[row] = true
			if requireNet(t, op) {
				both++
			}
		}
	}
	require.Greater(t, both, 100, "too few operations add and remove members")

	// What comes back before the next transaction is not written.
	pod, ns := cluster.Pods[0], cluster.Namespaces[0]
	now := r.sync(t)
	require.Empty(t, now.Ops)
	there := ns.DeepCopy()
	there.Labels["team"] = "elsewhere"
	was := cluster.Namespaces[0].DeepCopy()
	require.NoError(t, r.translator.Put(was))
	require.NoError(t, r.translator.Put(pod))
	r.sync(t)
	require.NoError(t, r.translator.Put(there))
	require.NoError(t, r.translator.Put(relabel(pod, "app", "elsewhere")))
	r.translator.Interim(0) // the target is busy, so that this one is never written
	require.NoError(t, r.translator.Put(was))
	require.NoError(t, r.translator.Put(pod))
	require.Empty(t, r.follow(t).Ops)
}

// requireNet checks that an operation on a set column has each member once, and reports whether it both adds and removes some.
func requireNet(t *testing.T, op backends.Op) bool {
	t.Helper()
	mutates := false
	for column, added := range op.After {
		list, _ := added.([]string)
		gone, _ := op.Before[column].([]string)
		seen := map[string]bool{}
		for _, member := range append(append([]string{}, list...), gone...) {
			require.False(t, seen[member], "%s of %s has %s twice", column, op.Name, member)
			seen[member] = true
		}
		mutates = mutates || len(list) > 0 && len(gone) > 0
	}
	return mutates
}

// BenchmarkStormLog measures how much a real server appends to its log for each change of a storm, depending on how many changes are written
// together, and how many sets it changes.
func BenchmarkStormLog(b *testing.B) {
	if !ovsdbtest.Available() {
		b.Skip("no ovsdb-server is installed")
	}
	for _, batch := range []int{1, 3, stormBatch, 25, 100} {
		b.Run(fmt.Sprintf("pods=%d/together=%d", *stormPods, batch), func(b *testing.B) {
			process, err := ovsdbtest.StartProcess(b.Context(), b.TempDir(), schema.NB2303())
			require.NoError(b, err)
			b.Cleanup(func() { _ = process.Stop() })
			cluster := policygen.Workload(*stormPods)
			r := newRig(b, process.Addr())
			makePorts(b, r.client, cluster)
			r.load(b, cluster)
			r.sync(b)
			file := strings.TrimSuffix(process.Log(), ".log") + ".db"
			began, i, sets := fileSize(b, file), 0, 0
			for b.Loop() {
				for range stormChanges / batch {
					for range batch {
						storm(b, r, cluster, i)
						i++
					}
					sets += len(r.follow(b).Ops)
				}
			}
			b.ReportMetric(float64(fileSize(b, file)-began)/float64(i), "log-bytes/change")
			b.ReportMetric(float64(sets)/float64(i)*stormChanges, "sets/storm")
		})
	}
}

func fileSize(b *testing.B, name string) int64 {
	b.Helper()
	info, err := os.Stat(name)
	require.NoError(b, err)
	return info.Size()
}
