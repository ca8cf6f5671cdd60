//go:build e2e

package e2e_test

import (
	"fmt"
	"testing"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// Peers of cluster-wide policies: the client, every pod, and every address.
const (
	clients  = `{pods: {namespaceSelector: {}, podSelector: {matchLabels: {app: client}}}}`
	everyone = `{namespaces: {}}`
	anywhere = `{networks: ["0.0.0.0/0", "::/0"]}`
)

// clusterPolicy is a ClusterNetworkPolicy for pods with a label.
func clusterPolicy(name, tier string, priority int, label, rules string) string {
	return fmt.Sprintf(`
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: {name: %s}
spec:
  tier: %s
  priority: %d
  subject: {pods: {namespaceSelector: {}, podSelector: {matchLabels: {%s}}}}
  %s
`, name, tier, priority, label, rules)
}

// silent denies all connections that pods with a label open.
func silent(tier, label string) string {
	return clusterPolicy("silent", tier, 1, label, "egress: [{action: Deny, to: ["+anywhere+"]}]")
}

// attempt is a connection that is tried over both families.
type attempt struct {
	from, to string
	protocol string
	port     uint16
	want     ovnlab.Outcome
}

// TestClusterPolicyPackets sends real packets under cluster-wide policies of both tiers and every action, beside those of
// testdata/packets, which isolate far for ingress and out for egress.
func TestClusterPolicyPackets(t *testing.T) {
	const (
		toOld   = "protocols: [{tcp: {destinationPort: {number: 80}}}]"
		toFresh = "protocols: [{tcp: {destinationPort: {number: 81}}}]"
	)
	s := newStage(t)
	put(t, s.dir, "cluster.yaml", "# none yet")
	daemon := start(t, s.dir, s.lab.NBUnix())
	for _, tc := range []struct {
		name     string
		policies string
		attempts []attempt
	}{
		{
			"an Admin Accept opens a pod that a NetworkPolicy isolates",
			clusterPolicy("open", "Admin", 1, "app: far", "ingress: [{action: Accept, from: ["+clients+"], "+toOld+"}]"),
			[]attempt{
				{"client", "far", "tcp", old, ovnlab.Answered},
				{"client", "far", "tcp", fresh, ovnlab.Timeout},
				{"web", "far", "tcp", old, ovnlab.Timeout},
			},
		},
		{
			"an Admin Deny closes what a NetworkPolicy allows",
			clusterPolicy("close", "Admin", 1, "app: client", "ingress: [{action: Deny, from: ["+everyone+"], "+toOld+"}]"),
			[]attempt{
				{"out", "client", "tcp", old, ovnlab.Timeout},
				{"far", "client", "tcp", old, ovnlab.Timeout},
				{"out", "client", "udp", steady, ovnlab.Answered},
				{"far", "client", "tcp", fresh, ovnlab.Answered},
			},
		},
		{
			"an Admin Pass leaves it to NetworkPolicies",
			clusterPolicy("web", "Admin", 1, "app: web",
				"ingress: [{action: Pass, from: ["+clients+"], "+toOld+"}, {action: Deny, from: ["+everyone+"]}]") + "---" +
				clusterPolicy("far", "Admin", 2, "app: far",
					"ingress: [{action: Pass, from: ["+clients+"]}, {action: Accept, from: ["+everyone+"]}]"),
			[]attempt{
				{"client", "web", "tcp", old, ovnlab.Answered}, // no NetworkPolicy isolates it
				{"client", "web", "tcp", fresh, ovnlab.Timeout},
				{"far", "web", "tcp", old, ovnlab.Timeout},
				{"client", "far", "tcp", old, ovnlab.Timeout}, // one isolates this one
				{"web", "far", "tcp", old, ovnlab.Answered},
			},
		},
		{
			"Baseline rules decide what no NetworkPolicy does",
			clusterPolicy("web", "Baseline", 1, "app: web",
				"ingress: [{action: Accept, from: ["+clients+"], "+toOld+"}, {action: Pass, from: ["+everyone+"], "+toFresh+"}, "+
					"{action: Deny, from: ["+everyone+"]}]") + "---" +
				clusterPolicy("far", "Baseline", 1, "app: far", "ingress: [{action: Accept, from: ["+everyone+"]}]"),
			[]attempt{
				{"client", "web", "tcp", old, ovnlab.Answered},
				{"far", "web", "tcp", old, ovnlab.Timeout},
				{"far", "web", "tcp", fresh, ovnlab.Answered},
				{"client", "web", "udp", steady, ovnlab.Timeout},
				{"client", "far", "tcp", old, ovnlab.Timeout},
			},
		},
		{
			"replies pass an Admin Deny of the other direction", silent("Admin", "app: web"),
			[]attempt{
				{"client", "web", "tcp", old, ovnlab.Answered},
				{"client", "web", "udp", old, ovnlab.Answered},
				{"far", "web", "tcp", old, ovnlab.Answered},
				{"far", "web", "udp", old, ovnlab.Answered},
				{"web", "client", "tcp", old, ovnlab.Timeout},
				{"web", "client", "udp", old, ovnlab.Timeout},
			},
		},
		{
			"replies pass a Baseline Deny of the other direction", silent("Baseline", "app: web"),
			[]attempt{
				{"client", "web", "tcp", old, ovnlab.Answered},
				{"far", "web", "udp", old, ovnlab.Answered},
				{"web", "client", "tcp", old, ovnlab.Timeout},
				{"web", "client", "udp", old, ovnlab.Timeout},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			put(t, s.dir, "cluster.yaml", tc.policies)
			s.settle(t, daemon)
			s.tryAll(t, tc.attempts)
		})
	}
}

// TestRepliesPassADenyThatIsAlone has no policy but one that denies, so that no ACL allows anything on any switch.
func TestRepliesPassADenyThatIsAlone(t *testing.T) {
	for _, tier := range []string{"Admin", "Baseline"} {
		t.Run(tier, func(t *testing.T) {
			s := newStage(t)
			put(t, s.dir, "policies.yaml", "# no NetworkPolicy")
			put(t, s.dir, "cluster.yaml", silent(tier, "app: far"))
			s.settle(t, start(t, s.dir, s.lab.NBUnix()))
			s.tryAll(t, []attempt{
				{"client", "far", "tcp", old, ovnlab.Answered},
				{"client", "far", "udp", old, ovnlab.Answered},
				{"far", "client", "tcp", old, ovnlab.Timeout},
				{"far", "client", "udp", old, ovnlab.Timeout},
			})
		})
	}
}

func (s *stage) tryAll(t *testing.T, attempts []attempt) {
	t.Helper()
	for _, a := range attempts {
		s.expect(t, a.want, a.from, a.to, a.protocol, a.port)
	}
}
