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
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
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

// TestAFastStormWritesLess makes a storm at several rates and writes as many changes together as the loop does then. It counts the sets that are
// changed, and if there is an ovsdb-server, the bytes that it appends to its log.
func TestAFastStormWritesLess(t *testing.T) {
	const pods = 1000
	for _, tc := range []struct {
		perSecond, wantSets, wantBytes int // 0 is one by one, without a loop
	}{
		{0, 25800, 815}, {50, 23200, 675}, {100, 18700, 605}, {200, 13700, 515}, {300, 10300, 445}, {400, 8100, 400}, {800, 4800, 320},
	} {
		t.Run(fmt.Sprintf("%d a second", tc.perSecond), func(t *testing.T) {
			together := alone(stormChanges)
			if tc.perSecond > 0 {
				together = spaced(t, stormChanges, tc.perSecond)
			}
			endpoint, logged := logServer(t)
			cluster := policygen.Workload(pods)
			r := newRig(t, endpoint)
			makePorts(t, r.client, cluster)
			r.load(t, cluster)
			r.sync(t)
			empty, i, sets := logged(), 0, 0
			for _, n := range together {
				for range n {
					storm(t, r, cluster, i)
					i++
				}
				sets += len(r.follow(t).Ops)
			}
			bytes := int(logged()-empty) / stormChanges
			require.Equal(t, stormChanges, i)
			t.Logf("%d transactions, %d changed sets, %d bytes of the log for each change", len(together), sets, bytes)
			require.LessOrEqual(t, sets, tc.wantSets)
			require.LessOrEqual(t, bytes, tc.wantBytes)
			require.Equal(t, ovsdbtest.Available(), bytes > 0, "bytes are measured where there is an ovsdb-server")
			require.Empty(t, r.sync(t).Ops)
		})
	}
}

// logServer starts an ovsdb-server, and returns its address and what tells the size of its log: 0 if none is installed, when a simulated one
// takes its place.
func logServer(t *testing.T) (endpoint string, logged func() int64) {
	t.Helper()
	if !ovsdbtest.Available() {
		server, err := simulator.NewServer(schema.NB2303())
		require.NoError(t, err)
		address := "unix:" + t.TempDir() + "/nb.sock"
		require.NoError(t, server.Start(address))
		t.Cleanup(server.Close)
		return address, func() int64 { return 0 }
	}
	process, err := ovsdbtest.StartProcess(t.Context(), t.TempDir(), schema.NB2303())
	require.NoError(t, err)
	t.Cleanup(func() { _ = process.Kill() })
	return process.Addr(), func() int64 { return fileSize(t, strings.TrimSuffix(process.Log(), ".log")+".db") }
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

func fileSize(tb testing.TB, name string) int64 {
	tb.Helper()
	info, err := os.Stat(name)
	require.NoError(tb, err)
	return info.Size()
}
