package policy

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	ovnkubernetes "github.com/netloom/netloom/pkg/apis/ovnkubernetes/v1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// formOfFirewall is an EgressFirewall as the last of the policies in the admin tier: what it denies is denied, what it allows is left to
// NetworkPolicies, and connections to pods are not affected. A rule for a DNS name, whose addresses are not known, has no effect here.
func formOfFirewall(o *ovnkubernetes.EgressFirewall) *clusterForm {
	namespace := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: o.Namespace}}
	inside := newClusterRule(intent.Egress, 0, "inside the cluster", actionPass, "ports", nil)
	inside.path = "spec"
	inside.peers = []v1alpha2.ClusterNetworkPolicyEgressPeer{{Namespaces: &metav1.LabelSelector{}}}
	f := &clusterForm{
		object: o, kind: object.KindEgressFirewall, tier: v1alpha2.AdminTier, priority: maxPriority,
		subject: v1alpha2.ClusterNetworkPolicySubject{Namespaces: namespace},
		rules:   [2][]clusterRule{intent.Egress: {inside}},
	}
	for i := range o.Spec.Egress {
		from := &o.Spec.Egress[i]
		if from.To.DNSName != "" {
			continue
		}
		action := actionDeny
		if from.Type == ovnkubernetes.Allow {
			action = actionPass
		}
		rule := newClusterRule(intent.Egress, i, "", action, "ports", firewallPorts(from.Ports))
		peer := v1alpha2.ClusterNetworkPolicyEgressPeer{Nodes: from.To.NodeSelector}
		if cidr := from.To.CIDRSelector; cidr != "" {
			if p, err := netip.ParsePrefix(cidr); err == nil {
				cidr = p.Masked().String()
			}
			peer.Networks = []v1alpha2.CIDR{v1alpha2.CIDR(cidr)}
		}
		rule.peers = []v1alpha2.ClusterNetworkPolicyEgressPeer{peer}
		f.rules[intent.Egress] = append(f.rules[intent.Egress], rule)
	}
	return f
}

// firewallPorts are the ports of a rule; nil for any.
func firewallPorts(ports []ovnkubernetes.EgressFirewallPort) []v1alpha2.ClusterNetworkPolicyProtocol {
	var out []v1alpha2.ClusterNetworkPolicyProtocol
	for _, p := range ports {
		var protocol v1alpha2.ClusterNetworkPolicyProtocol
		setProtocol(&protocol, corev1.Protocol(strings.ToUpper(p.Protocol)), &v1alpha2.Port{Number: p.Port})
		out = append(out, protocol)
	}
	return out
}
