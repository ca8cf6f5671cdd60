package policygen

import (
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/test/oracle"
)

// Alike makes n policies for namespaces of a cluster whose lists of peers have much in common. They are not in the cluster yet.
func Alike(c *oracle.Cluster, rng *rand.Rand, n int) []*networkingv1.NetworkPolicy {
	with := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	everywhere := &metav1.LabelSelector{}
	peers := []networkingv1.NetworkPolicyPeer{
		{PodSelector: with("app", "a")},
		{PodSelector: with("app", "b"), NamespaceSelector: everywhere},
		{NamespaceSelector: with("team", "red")},
		{PodSelector: with("tier", "back"), NamespaceSelector: everywhere},
		{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/9"}},
	}
	ports := [][]networkingv1.NetworkPolicyPort{nil, {{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(80))}}}
	var out []*networkingv1.NetworkPolicy
	for i := range n {
		var from []networkingv1.NetworkPolicyPeer
		for _, j := range slices.Sorted(slices.Values(rng.Perm(len(peers))[:1+rng.IntN(4)])) {
			from = append(from, peers[j])
		}
		p := &networkingv1.NetworkPolicy{}
		p.Namespace, p.Name = c.Namespaces[rng.IntN(len(c.Namespaces))].Name, fmt.Sprint("alike-", i)
		p.Spec = networkingv1.NetworkPolicySpec{
			PodSelector: *with("app", podAlphabet()[0].values[rng.IntN(3)]), PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: from, Ports: ports[rng.IntN(2)]}},
		}
		out = append(out, p)
	}
	return out
}

// Toggle adds a policy to a cluster, or removes it if it is there.
func Toggle(c *oracle.Cluster, p *networkingv1.NetworkPolicy) {
	others := slices.DeleteFunc(slices.Clone(c.Policies), func(o *networkingv1.NetworkPolicy) bool {
		return o.Namespace == p.Namespace && o.Name == p.Name
	})
	if len(others) == len(c.Policies) {
		others = append(others, p)
	}
	c.Policies = others
}
