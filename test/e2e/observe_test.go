//go:build e2e

package e2e_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// loggedPolicy lets pods with app=client reach web on one port, and logs what it allows and denies.
const loggedPolicy = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: e2e, name: web, annotations: {netloom.io/acl-logging: '{"allow": "info", "deny": "alert"}'}}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress: [{from: [{podSelector: {matchLabels: {app: client}}}], ports: [{port: 80}]}]
`

// TestObserveRealLogs sends packets that logged ACLs match, and finds them in ovn-controller's own log by pod, policy and rule.
func TestObserveRealLogs(t *testing.T) {
	s := newStage(t)
	put(t, s.dir, "web-policy.yaml", loggedPolicy)
	daemon := start(t, s.dir, s.lab.NBTCP())
	s.settle(t, daemon)
	s.expect(t, ovnlab.Answered, "client", "web", "tcp", old)
	s.expect(t, ovnlab.Timeout, "client", "web", "tcp", closed)
	s.expect(t, ovnlab.Timeout, "far", "web", "udp", steady)

	type flow struct{ From, To, Port, Verdict, Policy, Rule string }
	want := []flow{
		{"e2e/client", "e2e/web", "tcp/80", "allowed", "NetworkPolicy/e2e/web", "spec.ingress[0]"},
		{"e2e/client", "e2e/web", "tcp/9000", "denied", "NetworkPolicy/e2e/web", "default deny"},
		{"e2e/far", "e2e/web", "udp/7000", "denied", "NetworkPolicy/e2e/web", "default deny"},
	}
	var got struct{ Flows []flow }
	await.True(t, func() bool {
		out, err := exec.CommandContext(t.Context(), binary(t), "observe", "-f", s.dir, "-o", "json", s.chassis.ControllerLog()).Output()
		if err != nil {
			return false // no such line yet
		}
		got.Flows = nil
		require.NoError(t, json.Unmarshal(out, &got), "%s", out)
		return len(got.Flows) >= len(want)
	}, "the log has the packets")
	require.ElementsMatch(t, want, got.Flows)
}
