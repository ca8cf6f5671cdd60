//go:build e2e

package ovsdb_test

import (
	"context"
	"os"
	"regexp"
	"testing"
	"time"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/await"
)

func startProcess(t testing.TB, extra ...string) *ovsdbtest.Process {
	t.Helper()
	process, err := ovsdbtest.StartProcess(t.Context(), t.TempDir(), schema.NB2303(), extra...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = process.Kill() })
	return process
}

func startCluster(t testing.TB) *ovsdbtest.Cluster {
	t.Helper()
	cluster, err := ovsdbtest.StartCluster(t.Context(), t.TempDir(), 3, schema.NB2303())
	require.NoError(t, err)
	t.Cleanup(func() { _ = cluster.Kill() })
	return cluster
}

func TestClientOnARealServer(t *testing.T) {
	process := startProcess(t)
	suite(t, process.Addr(), func(t testing.TB) *ovsdbtest.Raw { return dialRaw(t, process.Addr()) })
}

func TestClientOnACluster(t *testing.T) {
	cluster := startCluster(t)
	leader, err := cluster.Leader()
	require.NoError(t, err)
	client := connect(t, ovsdb.Options{Endpoints: cluster.Endpoints(), LeaderOnly: true})
	require.Equal(t, leader.Addr(), client.Endpoint())
}

func TestServerRestarted(t *testing.T) {
	process := startProcess(t)
	client := connect(t, ovsdb.Options{Endpoints: []string{process.Addr()}, LeaderOnly: true})
	_, err := client.Transact(t.Context(), []libovsdb.Operation{ovsdb.Insert("Address_Set", id1, libovsdb.Row{"name": "a"})})
	require.NoError(t, err)
	require.NoError(t, process.Stop())
	until(t, client, "the loss", func() bool { return !client.Connected() })
	require.NoError(t, process.Start())
	until(t, client, "the server's return", client.Connected)
	rows, err := client.Select(t.Context(), "Address_Set", nil, "name")
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

// TestLeaderLost takes the leader away from a client that writes all the time.
func TestLeaderLost(t *testing.T) {
	tests := []struct {
		name string
		take func(t *testing.T, cluster *ovsdbtest.Cluster, leader *ovsdbtest.Process)
	}{
		{"killed", func(t *testing.T, _ *ovsdbtest.Cluster, leader *ovsdbtest.Process) { require.NoError(t, leader.Kill()) }},
		{"stopped", func(t *testing.T, _ *ovsdbtest.Cluster, leader *ovsdbtest.Process) { require.NoError(t, leader.Stop()) }},
		{"hung", func(t *testing.T, _ *ovsdbtest.Cluster, leader *ovsdbtest.Process) { require.NoError(t, leader.Hang()) }},
		{"demoted", func(t *testing.T, cluster *ovsdbtest.Cluster, _ *ovsdbtest.Process) {
			require.NoError(t, cluster.Transfer())
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			cluster := startCluster(t)
			client := connect(t, ovsdb.Options{Endpoints: cluster.Endpoints(), LeaderOnly: true})
			leader, err := cluster.Leader()
			require.NoError(t, err)
			acked := write(t, client, 50)

			start := time.Now()
			tc.take(t, cluster, leader)
			leads := make(chan time.Duration, 1)
			go func() {
				for {
					next, err := cluster.Leader()
					if err != nil || next != leader {
						leads <- time.Since(start)
						return
					}
				}
			}()
			await.True(t, func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				_, err := client.Transact(ctx, []libovsdb.Operation{
					ovsdb.Insert("Address_Set", id3, libovsdb.Row{"name": "after"}),
				})
				// The first attempt may have been committed by the leader that was lost.
				return client.Endpoint() != leader.Addr() && (err == nil || ovsdb.IsDuplicate(err))
			}, "another leader to take writes")
			elected, resumed := <-leads, time.Since(start)
			t.Logf("new leader after %s, service after %s", elected.Round(time.Millisecond), resumed.Round(time.Millisecond))

			var rows []libovsdb.Row
			await.NoError(t, func() (err error) { // the new leader may be lost again
				rows, err = client.Select(t.Context(), "Address_Set", nil, "name")
				return err
			}, "the rows are read")
			require.Len(t, rows, acked+1, "no acknowledged write is lost")
		})
	}
}

func TestTLSOnARealServer(t *testing.T) {
	ca := newAuthority(t)
	server := ca.issue(t, t.TempDir())
	process := startProcess(t, "--remote=pssl:0:127.0.0.1",
		"--ca-cert="+server.CA, "--certificate="+server.Cert, "--private-key="+server.Key)
	text, err := os.ReadFile(process.Log())
	require.NoError(t, err)
	port := regexp.MustCompile(`0:127\.0\.0\.1: listening on port (\d+)`).FindStringSubmatch(string(text))
	require.NotEmpty(t, port, "%s", text)

	dir := t.TempDir()
	client := connect(t, ovsdb.Options{
		Endpoints: []string{"ssl:127.0.0.1:" + port[1]}, TLS: ca.issue(t, dir), LeaderOnly: true,
	}) // with the default probes, so that a server without a processor for a moment is not taken for one that hangs
	suiteSchema(t, client)
	ca.issue(t, dir)
	until(t, client, "a connection with the new certificate", func() bool { return client.Connected() && client.Epoch() >= 2 })
	suiteRows(t, client)
}
