//go:build e2e

package ovn_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/await"
)

// instance is a backend of owner "a" with a connection of its own, driven as a loop does.
type instance struct {
	*ovn.Backend
	client *ovsdb.Client
	snap   *intent.Snapshot
	writes int
}

func newInstance(t *testing.T, endpoints ...string) *instance {
	t.Helper()
	client := ovntest.Connect(t, ovsdb.Options{Endpoints: endpoints, LeaderOnly: true})
	names, err := ovn.ParsePortNames(ovn.DefaultPortNames)
	require.NoError(t, err)
	backend, err := ovn.New(client, ovn.Options{Owner: "a", Ports: names})
	require.NoError(t, err)
	return &instance{Backend: backend, client: client, snap: intent.NewSnapshot()}
}

// write makes one change, whatever was there before.
func (i *instance) write(ctx context.Context) error {
	i.writes++
	i.snap = backendtest.Advance(i.snap, open(uint16(1+i.writes%60000)))
	p, err := i.Plan(ctx, i.snap, 0)
	if err != nil {
		return err
	}
	if p.Empty() {
		return fmt.Errorf("write %d changes nothing", i.writes)
	}
	return i.Apply(ctx, p)
}

// logged is one transaction of a database's log.
type logged struct {
	comment string
	tables  string // with a line for each row
}

// showLog reads the log of a database as ovsdb-tool prints it.
func showLog(t *testing.T, file string) []logged {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ovsdb-tool", "show-log", "-m", file).CombinedOutput()
	require.NoError(t, err, string(out))
	var list []logged
	head := regexp.MustCompile(`(?m)^record \d+: .*$`)
	texts, heads := head.Split(string(out), -1)[1:], head.FindAllString(string(out), -1)
	for i, text := range texts {
		_, comment, _ := strings.Cut(heads[i], ` "`)
		list = append(list, logged{comment: strings.TrimSuffix(comment, `"`), tables: text})
	}
	return list
}

// TestLogProvesThatOneWrites has one instance write without pause while another one claims the database and writes too.
// The database's own log proves that the first writes nothing after the second has claimed.
func TestLogProvesThatOneWrites(t *testing.T) {
	dir := t.TempDir()
	process, err := ovsdbtest.StartProcess(t.Context(), dir, schema.NB2303())
	require.NoError(t, err)
	t.Cleanup(func() { _ = process.Kill() })
	first, second := newInstance(t, process.Addr()), newInstance(t, process.Addr())
	require.NoError(t, first.write(t.Context()), "not claimed yet")
	_, err = first.Claim(t.Context(), "pod-1")
	require.NoError(t, err)

	under := make(chan struct{})
	end := make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			if n == 20 {
				close(under)
			}
			if err := first.write(t.Context()); err != nil {
				end <- err
				return
			}
		}
	}()
	<-under
	generation, err := second.Claim(t.Context(), "pod-2")
	require.NoError(t, err)
	require.Equal(t, uint64(2), generation)
	for range 20 {
		require.NoError(t, second.write(t.Context()))
	}
	require.ErrorIs(t, <-end, backends.ErrDeposed)

	var written []string
	for _, l := range showLog(t, filepath.Join(dir, "nb.db"))[1:] {
		written = append(written, l.comment)
		if strings.Contains(l.comment, "claims") {
			require.Contains(t, l.tables, "NB_Global")
		} else {
			require.NotContains(t, l.tables, "NB_Global")
		}
	}
	require.Regexp(t, `^netloom a
netloom a pod-1 claims 1
(netloom a pod-1 claim 1
){20,}netloom a pod-2 claims 2
(netloom a pod-2 claim 2
){20}$`, strings.Join(written, "\n")+"\n")
}

// TestDatabaseRestoredFromBackup puts the file of a database back that was saved before the last claim, and before any.
func TestDatabaseRestoredFromBackup(t *testing.T) {
	for _, claimed := range []bool{false, true} {
		t.Run(fmt.Sprintf("claimed before: %v", claimed), func(t *testing.T) {
			dir := t.TempDir()
			process, err := ovsdbtest.StartProcess(t.Context(), dir, schema.NB2303())
			require.NoError(t, err)
			t.Cleanup(func() { _ = process.Kill() })
			file := filepath.Join(dir, "nb.db")
			old, now := newInstance(t, process.Addr()), newInstance(t, process.Addr())
			if claimed {
				_, err = old.Claim(t.Context(), "old")
				require.NoError(t, err)
			}
			backup, err := os.ReadFile(file)
			require.NoError(t, err)
			generation, err := now.Claim(t.Context(), "now")
			require.NoError(t, err)
			require.NoError(t, now.write(t.Context()))

			require.NoError(t, process.Stop())
			require.NoError(t, os.WriteFile(file, backup, 0o600))
			require.NoError(t, process.Start())
			await.True(t, func() bool { return now.client.Connected() && now.client.Epoch() >= 2 }, "the later client is connected again")
			await.True(t, func() bool { return old.client.Connected() && old.client.Epoch() >= 2 }, "the earlier client is connected again")
			err = now.write(t.Context())
			require.ErrorContains(t, err, "our claim was missing")
			require.NoError(t, now.write(t.Context()))
			if claimed {
				require.ErrorIs(t, old.write(t.Context()), backends.ErrDeposed)
			}
			log := showLog(t, file)
			require.Equal(t, fmt.Sprintf("netloom a now claims again %d", generation), log[len(log)-2].comment)
			require.Equal(t, fmt.Sprintf("netloom a now claim %d", generation), log[len(log)-1].comment)
		})
	}
}

// TestClaimOutlivesTheLeaderOfACluster takes the leader of the database's own cluster away from the claimant.
func TestClaimOutlivesTheLeaderOfACluster(t *testing.T) {
	cluster, err := ovsdbtest.StartCluster(t.Context(), t.TempDir(), 3, schema.NB2303())
	require.NoError(t, err)
	t.Cleanup(func() { _ = cluster.Kill() })
	first, second := newInstance(t, cluster.Endpoints()...), newInstance(t, cluster.Endpoints()...)
	_, err = first.Claim(t.Context(), "pod-1")
	require.NoError(t, err)
	require.NoError(t, first.write(t.Context()))
	leader, err := cluster.Leader()
	require.NoError(t, err)
	require.NoError(t, leader.Kill())
	for _, i := range []*instance{first, second} {
		await.True(t, func() bool {
			_, err := i.client.Transact(t.Context(), []libovsdb.Operation{{Op: "select", Table: "NB_Global"}})
			return err == nil && i.client.Endpoint() != leader.Addr()
		}, "the client has found the new leader")
	}
	require.NoError(t, first.write(t.Context()))
	_, err = second.Claim(t.Context(), "pod-2")
	require.NoError(t, err)
	require.ErrorIs(t, first.write(t.Context()), backends.ErrDeposed)
	require.NoError(t, second.write(t.Context()))
}
