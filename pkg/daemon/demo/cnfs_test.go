package demo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	sdwan "github.com/netloom/netloom/deploy/examples/sdwan"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/ovsdb"
)

func TestOnceShowsTheConfigurationOfTheDevice(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	require.NoError(t, Run(t.Context(), Options{Once: true}, &out, testLog(t)))
	text := out.String()
	for _, want := range []string{
		`\nSD-WAN: what 10 resources made of the OpenWRT device in pod edge/cnf-0 \(uci export\)\n  package mwan3\n`,
		`\n  config policy '[a-z0-9]{15}'\n  \tlist use_member '[a-z0-9]{15}_net1'\n  \tlist use_member '[a-z0-9]{15}_net2'\n`,
		`\n  config rule '[a-z0-9]{15}'\n  \toption use_policy '[a-z0-9]{15}'\n  \toption dest_ip '198\.51\.100\.0/24'\n`,
		`\n  config zone\n  \toption name '[a-z0-9]{11}'\n  \tlist network 'net1'\n  \tlist network 'net2'\n  \toption masq '1'\n`,
		`\n  config forwarding\n`,
		`\n  config remote '\w+_headquarters'\n  \toption gateway '203\.0\.113\.50'\n`,
		`\n  \toption pre_shared_key \(hidden\)\n`,
	} {
		require.Regexp(t, want, text)
	}
	require.Equal(t, 2, strings.Count(text, "\n  config policy "))
	require.NotContains(t, text, "only-for-the-demo")
	require.NotContains(t, text, "\n! ")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left, "nothing is left behind")
}

// TestADeviceThatStartsEmptyGetsAllOfItAgain runs the demo over a copy of the SD-WAN example, and the shop that the demo
// needs to have something to show.
func TestADeviceThatStartsEmptyGetsAllOfItAgain(t *testing.T) {
	dir := copyOfExamples(t)
	require.NoError(t, os.CopyFS(filepath.Join(dir, "sdwan"), sdwan.Files))
	out := newScreen()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, Options{Manifests: dir}, out, testLog(t)) }()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	out.await(t, 0, "Raise restartCount in ")

	from := len(out.String())
	edit(t, filepath.Join(dir, "sdwan", "cnf.yaml"), "restartCount: 0", "restartCount: 1")
	out.await(t, from, "  openwrt/edge/cnf-0, revision ")
	out.await(t, from, "reload service ×3")
	require.Contains(t, out.String()[from:], "(IpsecSite/edge/headquarters)")

	from = len(out.String())
	edit(t, filepath.Join(dir, "sdwan", "wan.yaml"), "dest_ip: 198.51.100.0/24", "dest_ip: 198.51.100.128/25")
	out.await(t, from, "dest_ip: 198.51.100.0/24 → 198.51.100.128/25")
	require.NoError(t, stop())
}

// TestADeviceThatForgetsInSilence kills the simulated device and starts it empty without any event: the next of its regular
// checks brings everything back.
func TestADeviceThatForgetsInSilence(t *testing.T) {
	functions := newDevices()
	t.Cleanup(functions.close)
	opts := Options{deviceInterval: 300 * time.Millisecond}
	branch, dir, end, err := newBranch(opts, functions, testLog(t))
	require.NoError(t, err)
	t.Cleanup(end)
	out := newScreen()
	client, err := ovsdb.New(ovsdb.Options{Endpoints: branch.DatabaseAddress(), Log: testLog(t)})
	require.NoError(t, err)
	e := newCNFs(&show{w: out, client: client, daemon: branch}, branch, dir, functions)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- branch.Run(ctx) }()
	require.NoError(t, e.first(ctx))
	require.Empty(t, e.changes, "what is shown is not printed again")

	device := onlyOne(t, branch, functions)
	before := device.Export()
	require.Contains(t, before, "headquarters")
	device.Recreate()
	require.NotContains(t, device.Export(), "headquarters")
	<-e.changes
	require.Equal(t, before, device.Export())
	cancel()
	require.NoError(t, <-done)
}

// onlyOne is the device of the only CNF.
func onlyOne(t *testing.T, d *daemon.Daemon, functions *devices) *simulated {
	t.Helper()
	for g := range d.Pipeline().Latest().CNFs() {
		return functions.of(g.ID)
	}
	require.Fail(t, "there is no CNF")
	return nil
}
