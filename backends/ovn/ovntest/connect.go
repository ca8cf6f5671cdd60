package ovntest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
)

// StartServer starts an in-memory server of a schema on a socket, until the test ends.
func StartServer(t testing.TB, schema []byte) *simulator.Server {
	t.Helper()
	server, err := simulator.NewServer(schema)
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(server.Close)
	return server
}

// Connect runs a client until the test ends, and waits until it is connected.
func Connect(t testing.TB, opts ovsdb.Options) *ovsdb.Client {
	t.Helper()
	client, err := ovsdb.New(opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- client.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	await.True(t, client.Connected, "the client is connected")
	return client
}
