package draft_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/serve/web/draft"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/translator"
)

// edits are what people try in an editor.
func edits(first runtime.Object) map[string]draft.Edit {
	ref, _ := draft.RefOf(first)
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns-00", Name: "default-deny"}}
	deny.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	fromAll := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns-00", Name: "from-all"}}
	fromAll.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{
		From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}},
	}}
	wide := &v1alpha2.ClusterNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "no-ssh"}}
	wide.Spec = v1alpha2.ClusterNetworkPolicySpec{
		Tier: v1alpha2.AdminTier, Priority: 1, Subject: v1alpha2.ClusterNetworkPolicySubject{Namespaces: &metav1.LabelSelector{}},
		Ingress: []v1alpha2.ClusterNetworkPolicyIngressRule{{
			Action: v1alpha2.ClusterNetworkPolicyRuleActionDeny,
			From:   []v1alpha2.ClusterNetworkPolicyIngressPeer{{Namespaces: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "t0"}}}},
		}},
	}
	return map[string]draft.Edit{
		"cluster":    {Put: []runtime.Object{wide}},
		"removed":    {Removed: []object.Ref{ref}},
		"deny":       {Put: []runtime.Object{deny}},
		"everything": {Put: []runtime.Object{fromAll}},
	}
}

// spread distributes the pods of a cluster over n nodes: a node reaches its own pods, whatever policies say.
func spread(c *oracle.Cluster, n int) {
	first := c.Nodes[0]
	for i := range n - 1 {
		node := first.DeepCopy()
		node.Name = fmt.Sprintf("node-%d", i)
		node.Status.Addresses[0].Address = netip.AddrFrom4([4]byte{172, 18, byte(1 + i>>8), byte(i)}).String()
		c.Nodes = append(c.Nodes, node)
	}
	for i, pod := range c.Pods {
		pod.Spec.NodeName = c.Nodes[i%n].Name
	}
}

// BenchmarkEdit compares clusters of 1,000 policies, with 100 pods on each node, before and after an edit, as the web page does.
func BenchmarkEdit(b *testing.B) {
	for _, pods := range []int{2_000, 10_000, 50_000} {
		cluster := policygen.Workload(pods)
		cluster.Policies = cluster.Policies[:min(1000, len(cluster.Policies))]
		spread(cluster, pods/100)
		objects := policygen.Objects(cluster)
		policies, world := split(objects)
		before := translated(b, objects)
		for name, edit := range edits(policies[0]) {
			b.Run(fmt.Sprintf("%s/pods=%d", name, pods), func(b *testing.B) {
				for b.Loop() {
					after, err := draft.Make(before, world, edit, translator.Options{})
					require.NoError(b, err)
					b.ReportMetric(float64(len(impact.Of(before, after).Changes)), "changes")
				}
			})
		}
	}
}
