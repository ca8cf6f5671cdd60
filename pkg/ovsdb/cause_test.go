package ovsdb_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
)

// TestNotConnectedSaysWhy names each endpoint and why it cannot be used, until there is a connection.
func TestNotConnectedSaysWhy(t *testing.T) {
	follower := startFake(t)
	follower.SetLeader(false)
	client := run(t, ovsdb.Options{Endpoints: []string{follower.Addr(), "unix:/nowhere/nb.sock"}, LeaderOnly: true})
	says := func(parts ...string) func() bool {
		return func() bool {
			for _, p := range parts {
				if !strings.Contains(client.NotConnected().Error(), p) {
					return false
				}
			}
			return true
		}
	}
	until(t, client, "both causes", says(
		follower.Addr()+": not the leader of its cluster", "unix:/nowhere/nb.sock: dial unix /nowhere/nb.sock: connect: no such file"))
	require.ErrorIs(t, client.NotConnected(), ovsdb.ErrNotConnected)
	_, err := client.Select(t.Context(), "ACL", nil)
	require.ErrorContains(t, err, "not the leader of its cluster")

	follower.SetLeader(true)
	until(t, client, "a connection", client.Connected)
	require.Equal(t, ovsdb.ErrNotConnected, client.NotConnected(), "what is over is not a cause")
}
