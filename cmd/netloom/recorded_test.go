package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/test/await"
)

// TestDriftHasTheSettingsOfTheDaemon runs a daemon with settings that decide on rows, and compares its database with the defaults, and with
// others.
func TestDriftHasTheSettingsOfTheDaemon(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	dir, server := manifests(t), database(t)
	write(t, dir, "policies.yaml", policies(2))
	target := []string{"--ovn-nb", server.Addr()}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{
			"run", "--manifests", dir, "--cluster", "blue", "--families", "ipv4", "--listen=", "--debug-listen=", "--log-level", "error",
		}, target...))
	}()
	settings := builtin.Settings{Owner: "netloom", OVN: ovn.Settings{Endpoints: []string{server.Addr()}, PortNames: ovn.DefaultPortNames}}
	recorded := func() map[string]string {
		got, err := offline.Recorded(t.Context(), settings)
		require.NoError(t, err)
		return got
	}
	await.True(t, func() bool { return recorded()["cluster"] == "blue" }, "the daemon records its settings")
	stop()
	require.Equal(t, exitDone, <-ended)
	require.Equal(t, "ipv4", recorded()["families"])
	require.Equal(t, ovn.DefaultPortNames, recorded()["ovn-port-names"])

	for _, command := range []string{"drift", "plan"} {
		got := netloom(t, append([]string{command, "-f", dir}, target...)...)
		require.Equal(t, exitDone, got.code, got.out+got.errout)
		require.Contains(t, got.errout, `note: as the daemon that writes this database: cluster "blue", families "ipv4"`)
		require.Equal(t, exitDone, netloom(t, append([]string{command, "-f", dir, "--cluster", "blue"}, target...)...).code)
		written := server.Transactions()
		got = netloom(t, append([]string{command, "-f", dir, "--cluster", "red"}, target...)...)
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.errout, `cluster (flag --cluster): "red", but the daemon that writes this database has "blue"`)
		require.Equal(t, written, server.Transactions())
	}
	written := server.Transactions()
	got := netloom(t, append([]string{"drift", "--repair", "-f", dir, "--cluster", "red"}, target...)...)
	require.Equal(t, exitFailed, got.code)
	require.Equal(t, written, server.Transactions(), "nothing is written with other settings")
	got = netloom(t, append([]string{"drift", "--repair", "-f", dir}, target...)...)
	require.Equal(t, exitDone, got.code, got.errout)
	require.Contains(t, got.out, "nothing to do")

	require.Equal(t, exitDone, netloom(t, append([]string{"remove", "--yes"}, target...)...).code)
	require.Nil(t, recorded())
}
