//go:build e2e

package e2e_test

import (
	"encoding/json"
	"net"
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// narrowerWeb is an edit of isolatedWeb that is tried: the client may not reach port 80 any more.
const narrowerWeb = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: e2e, name: web-staged, annotations: {netloom.io/enforcement: staged, netloom.io/stages: web}}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress: [{from: [{podSelector: {matchLabels: {app: client}}}], ports: [{port: 7000}]}]
`

// TestAStagedEditFromLiveTrafficToEnforced goes the way of docs/staged.md on a real OVN: an edit is staged, what it would cut is read from the
// datapath of the node, and it is promoted. Exactly the connections that were announced are cut.
func TestAStagedEditFromLiveTrafficToEnforced(t *testing.T) {
	s := newStage(t)
	put(t, s.dir, "web-policy.yaml", isolatedWeb)
	put(t, s.dir, "staged.yaml", narrowerWeb)
	daemon := start(t, s.dir, s.lab.NBTCP())
	s.settle(t, daemon)
	client, web := s.hosts["client"], s.hosts["web"]
	open := func(port uint16) net.Conn {
		conn, err := client.Dial(await.Context(t), "tcp", client.Addr(false), netip.AddrPortFrom(web.Addr(false), port))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, ovnlab.Ping(conn))
		return conn
	}
	doomed, kept := []net.Conn{open(old), open(old)}, open(steady)

	type flow struct {
		From, To, Port string
		Cut            bool
		Connections    int
	}
	var live struct {
		Cut, Kept int
		Flows     []flow
	}
	asked := s.chassis.Command(t.Context(), binary(t), "impact", "-f", s.dir, "--staged", "--live", "-o", "json")
	out, err := asked.Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, differs, exit.ExitCode(), "%s", exit.Stderr)
	require.NoError(t, json.Unmarshal(out, &live), "%s", out)
	require.Equal(t, 2, live.Cut, "%s", out)
	require.Equal(t, 1, live.Kept, "%s", out)
	require.ElementsMatch(t, []flow{
		{"e2e/client", "e2e/web", "tcp/80", true, 2}, {"e2e/client", "e2e/web", "tcp/7000", false, 1},
	}, live.Flows)
	for _, conn := range append(doomed, kept) {
		require.NoError(t, ovnlab.Ping(conn), "what is staged cuts nothing")
	}

	promoted, err := exec.CommandContext(t.Context(), binary(t), "promote", "-f", s.dir).Output()
	require.NoError(t, err)
	put(t, s.dir, "web-policy.yaml", string(promoted))
	s.settle(t, daemon)
	require.NoError(t, ovnlab.Ping(kept))
	for _, conn := range doomed {
		require.NoError(t, conn.SetDeadline(time.Now().Add(ovnlab.Within(ovnlab.Timeout))))
		require.Error(t, ovnlab.Ping(conn), "it was announced that it would be cut")
	}
	require.NoError(t, ovnlab.Ping(kept))
}
