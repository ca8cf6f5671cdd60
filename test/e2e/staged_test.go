//go:build e2e

package e2e_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// triedPolicies would deny everything to and from every pod, and an edit of web would allow what it denies.
const triedPolicies = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: e2e, name: nothing, annotations: {netloom.io/enforcement: staged}}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: e2e, name: web-staged, annotations: {netloom.io/enforcement: staged, netloom.io/stages: web}}
spec: {podSelector: {matchLabels: {app: web}}, ingress: [{}]}
---
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: {name: silent, annotations: {netloom.io/enforcement: staged}}
spec:
  tier: Admin
  priority: 1
  subject: {namespaces: {}}
  egress: [{action: Deny, to: [{networks: ["0.0.0.0/0", "::/0"]}]}]
`

// idlePolicies are the same policies when they select no pod. Without the objects, all that is staged would be lost, which is suspicious.
var idlePolicies = strings.NewReplacer(
	"podSelector: {}", "podSelector: {matchLabels: {app: none}}", "app: web", "app: none", "subject: {namespaces: {}}", "subject: {namespaces: {matchLabels: {a: none}}}",
	"name: web-staged, ", "name: web-staged, labels: {idle: \"true\"}, ",
).Replace(triedPolicies)

// isolatedWeb is in force: it isolates web, and allows the client old and steady.
const isolatedWeb = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: e2e, name: web}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress: [{from: [{podSelector: {matchLabels: {app: client}}}], ports: [{port: 80}, {port: 7000}, {port: 7000, protocol: UDP}]}]
`

// TestStagedPoliciesOnLiveTraffic stages policies and removes them again while clients keep trying: every real connection ends as without
// them, and the ones that they would decide differently are found in ovn-controller's log. With tiers, these are all of them; without,
// those about which nothing in force decides.
func TestStagedPoliciesOnLiveTraffic(t *testing.T) {
	s := newStage(t)
	put(t, s.dir, "web-policy.yaml", isolatedWeb)
	put(t, s.dir, "staged.yaml", "# none yet")
	daemon := start(t, s.dir, s.lab.NBTCP())
	s.settle(t, daemon)
	w := s.watch(t)
	attempts := []attempt{
		{"client", "web", "tcp", old, ovnlab.Answered},
		{"client", "web", "tcp", closed, ovnlab.Timeout},
		{"far", "web", "udp", steady, ovnlab.Timeout},
		{"web", "client", "tcp", old, ovnlab.Answered},
		{"web", "client", "udp", old, ovnlab.Answered},
		{"client", "far", "tcp", old, ovnlab.Timeout},
		{"out", "client", "tcp", old, ovnlab.Answered},
		{"out", "client", "tcp", fresh, ovnlab.Timeout},
	}
	s.tryAll(t, attempts)
	for range 2 {
		put(t, s.dir, "staged.yaml", triedPolicies)
		s.settle(t, daemon)
		s.tryAll(t, attempts)
		w.check(t)
		put(t, s.dir, "staged.yaml", idlePolicies)
		s.settle(t, daemon)
		s.tryAll(t, attempts)
		w.check(t)
	}
	for _, loops := range []map[string]*ovnlab.Loop{w.always, w.never} {
		for _, l := range loops {
			l.Stop() // a meter limits the lines
		}
	}
	w.cancel()
	put(t, s.dir, "staged.yaml", triedPolicies)
	s.settle(t, daemon)
	s.tryAll(t, attempts)

	type flow struct{ From, To, Port, Direction, Would string }
	want := map[string][]flow{
		"NetworkPolicy/e2e/nothing": {
			{"e2e/web", "e2e/client", "tcp/80", "ingress", "denied"}, {"e2e/web", "e2e/client", "udp/80", "ingress", "denied"},
		},
		"ClusterNetworkPolicy/silent": {
			{"e2e/client", "e2e/web", "tcp/80", "egress", "denied"}, {"e2e/web", "e2e/client", "udp/80", "egress", "denied"},
		},
	}
	if s.lab.HasTiers() {
		want["NetworkPolicy/e2e/nothing"] = append(want["NetworkPolicy/e2e/nothing"], flow{"e2e/out", "e2e/client", "tcp/80", "ingress", "denied"})
		want["ClusterNetworkPolicy/silent"] = append(want["ClusterNetworkPolicy/silent"], flow{"e2e/out", "e2e/client", "tcp/80", "egress", "denied"})
	}
	var got struct {
		Staged []struct {
			Policy      string
			Connections int
			Flows       []flow
		}
	}
	await.True(t, func() bool {
		out, err := exec.CommandContext(t.Context(), binary(t), "observe", "-f", s.dir, "--staged", "-o", "json", s.chassis.ControllerLog()).Output()
		if err != nil {
			return false // no such line yet
		}
		got.Staged = nil
		require.NoError(t, json.Unmarshal(out, &got), "%s", out)
		for _, p := range got.Staged {
			for _, f := range p.Flows {
				require.Equal(t, "denied", f.Would, "nothing that is denied would be allowed: the cluster-wide policy denies it as well")
				require.NotEqual(t, "tcp/9000", f.Port, "what is denied either way is no difference")
			}
			if slices.ContainsFunc(want[p.Policy], func(f flow) bool { return !slices.Contains(p.Flows, f) }) {
				return false
			}
		}
		return len(got.Staged) == 3
	}, "the log has the connections that staged policies would deny, not only: %v", &got)
}
