package bench

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/policygen"
)

var (
	tieredPods     = flag.Int("tiers.pods", 2000, "how many pods TestTieredCluster has")
	tieredPolicies = flag.Int("tiers.policies", 400, "how many NetworkPolicies it has, at most a fifth of the pods")
)

// platformPolicies returns n cluster-wide policies as a platform team writes them, each with a priority of its own: one team's pods
// accept what monitors them, deny SSH from another team and, in every hundredth policy, pass whatever comes from their own.
func platformPolicies(n int) []*v1alpha2.ClusterNetworkPolicy {
	team := func(i int) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"team": fmt.Sprintf("t%d", i%5)}}
	}
	port := func(number int32) []v1alpha2.ClusterNetworkPolicyProtocol {
		return []v1alpha2.ClusterNetworkPolicyProtocol{{
			TCP: &v1alpha2.ClusterNetworkPolicyProtocolTCP{DestinationPort: &v1alpha2.Port{Number: number}},
		}}
	}
	var out []*v1alpha2.ClusterNetworkPolicy
	for i := range n {
		p := &v1alpha2.ClusterNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("platform-%03d", i)}}
		p.Spec.Tier, p.Spec.Priority = v1alpha2.AdminTier, int32(5*i)
		p.Spec.Subject.Pods = &v1alpha2.NamespacedPod{
			NamespaceSelector: *team(i), PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("a%d", i/5)}},
		}
		from := func(action v1alpha2.ClusterNetworkPolicyRuleAction, team *metav1.LabelSelector, number int32) {
			p.Spec.Ingress = append(p.Spec.Ingress, v1alpha2.ClusterNetworkPolicyIngressRule{
				Action: action, From: []v1alpha2.ClusterNetworkPolicyIngressPeer{{Namespaces: team}}, Protocols: port(number),
			})
		}
		if i%100 == 50 {
			p.Spec.Ingress = append(p.Spec.Ingress, v1alpha2.ClusterNetworkPolicyIngressRule{
				Action: v1alpha2.ClusterNetworkPolicyRuleActionPass,
				From:   []v1alpha2.ClusterNetworkPolicyIngressPeer{{Namespaces: team(i)}},
			})
		}
		from(v1alpha2.ClusterNetworkPolicyRuleActionAccept, team(4), 9100+int32(i%20))
		from(v1alpha2.ClusterNetworkPolicyRuleActionDeny, team(i+1), 22)
		out = append(out, p)
	}
	return out
}

// TestTieredCluster runs 200 cluster-wide policies beside many NetworkPolicies and pods, with ACL tiers and without. What a flipped
// label or a changed priority writes must not grow with them.
func TestTieredCluster(t *testing.T) {
	acls := map[string]int{}
	for _, form := range []struct {
		name   string
		schema []byte
	}{{"tiers", schema.NB2503()}, {"lowered", schema.NB2303()}} {
		t.Run(form.name, func(t *testing.T) {
			server, err := simulator.NewServer(form.schema)
			require.NoError(t, err)
			require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
			t.Cleanup(server.Close)
			cluster := policygen.Workload(*tieredPods)
			cluster.Policies = cluster.Policies[:*tieredPolicies]
			platform := platformPolicies(200)
			r := newRig(t, server.Addr())
			makePorts(t, r.client, cluster)
			r.load(t, cluster)
			for _, p := range platform {
				require.NoError(t, r.translator.Put(p))
			}
			cold := r.sync(t)
			require.Empty(t, cold.Skips)
			counts := created(cold)
			acls[form.name] = counts["ACL"]
			t.Logf("200 cluster-wide policies: %v in %d transactions", counts, server.Transactions())

			requireCheapFlips(t, server, r, cluster.Pods[17])
			moved := platform[120].DeepCopy()
			moved.Spec.Priority--
			require.NoError(t, r.translator.Put(moved))
			server.Reset()
			plan := r.sync(t)
			require.Equal(t, 1, server.Transactions())
			for i := range plan.Ops {
				op := &plan.Ops[i]
				require.True(t, op.Kind == "ACL" && op.Verb != backends.Update || op.Verb == backends.Mutate, "%s %s", op.Verb, op.Kind)
			}
			require.LessOrEqual(t, len(plan.Ops), 12, "only the rows of that policy are written")
		})
	}
	t.Logf("ACLs: %v", acls)
	require.LessOrEqual(t, acls["lowered"], 10*acls["tiers"])
}
