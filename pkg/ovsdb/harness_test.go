package ovsdb_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
)

// startFake starts a server within the process on a unix socket.
func startFake(t testing.TB) *simulator.Server {
	t.Helper()
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+filepath.Join(t.TempDir(), "nb.sock")))
	t.Cleanup(server.Close)
	return server
}

// run starts a client and has it stopped, and waited for, when the test ends.
func run(t testing.TB, opts ovsdb.Options) *ovsdb.Client {
	t.Helper()
	client, err := ovsdb.New(opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return client
}

// connect starts a client and waits until it is connected.
func connect(t testing.TB, opts ovsdb.Options) *ovsdb.Client {
	t.Helper()
	client := run(t, opts)
	until(t, client, "a connection", client.Connected)
	return client
}

// until waits, woken by the client, until a condition holds.
func until(t testing.TB, client *ovsdb.Client, what string, done func() bool) {
	t.Helper()
	ctx := await.Context(t)
	for !done() {
		select {
		case <-client.Wake():
		case <-ctx.Done():
			require.FailNow(t, "gave up waiting for "+what)
		}
	}
}
