package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	ovnkubernetes "github.com/netloom/netloom/pkg/apis/ovnkubernetes/v1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// clusterFormOf returns the common form of a policy; false if o is of another kind.
func clusterFormOf(o metav1.Object) (*clusterForm, bool) {
	switch o := o.(type) {
	case *v1alpha2.ClusterNetworkPolicy:
		return formOfCluster(o), true
	case *v1alpha1.AdminNetworkPolicy:
		return formOfAdmin(o), true
	case *v1alpha1.BaselineAdminNetworkPolicy:
		return formOfBaseline(o), true
	case *ovnkubernetes.EgressFirewall:
		return formOfFirewall(o), true
	default:
		return nil, false
	}
}

func formOfCluster(o *v1alpha2.ClusterNetworkPolicy) *clusterForm {
	f := &clusterForm{
		object: o, kind: object.KindClusterNetworkPolicy, tier: o.Spec.Tier, priority: o.Spec.Priority, subject: o.Spec.Subject,
	}
	for i := range o.Spec.Ingress {
		r := &o.Spec.Ingress[i]
		rule := newClusterRule(intent.Ingress, i, r.Name, string(r.Action), "protocols", r.Protocols)
		for _, p := range r.From {
			rule.peers = append(rule.peers, v1alpha2.ClusterNetworkPolicyEgressPeer{Namespaces: p.Namespaces, Pods: p.Pods})
		}
		f.rules[intent.Ingress] = append(f.rules[intent.Ingress], rule)
	}
	for i := range o.Spec.Egress {
		r := &o.Spec.Egress[i]
		rule := newClusterRule(intent.Egress, i, r.Name, string(r.Action), "protocols", r.Protocols)
		rule.peers = r.To
		f.rules[intent.Egress] = append(f.rules[intent.Egress], rule)
	}
	return f
}

func formOfAdmin(o *v1alpha1.AdminNetworkPolicy) *clusterForm {
	f := &clusterForm{
		object: o, kind: object.KindAdminNetworkPolicy, tier: v1alpha2.AdminTier, priority: o.Spec.Priority,
		subject: subjectOf(&o.Spec.Subject),
	}
	for i := range o.Spec.Ingress {
		r := &o.Spec.Ingress[i]
		f.addIngress(i, r.Name, string(r.Action), r.From, r.Ports)
	}
	for i := range o.Spec.Egress {
		r := &o.Spec.Egress[i]
		f.addEgress(i, r.Name, string(r.Action), r.To, r.Ports)
	}
	return f
}

func formOfBaseline(o *v1alpha1.BaselineAdminNetworkPolicy) *clusterForm {
	f := &clusterForm{
		object: o, kind: object.KindBaselineAdminNetworkPolicy, tier: v1alpha2.BaselineTier,
		subject: subjectOf(&o.Spec.Subject),
	}
	for i := range o.Spec.Ingress {
		r := &o.Spec.Ingress[i]
		f.addIngress(i, r.Name, string(r.Action), r.From, r.Ports)
	}
	for i := range o.Spec.Egress {
		r := &o.Spec.Egress[i]
		to := make([]v1alpha1.AdminNetworkPolicyEgressPeer, len(r.To))
		for j, p := range r.To {
			to[j] = v1alpha1.AdminNetworkPolicyEgressPeer{Namespaces: p.Namespaces, Pods: p.Pods, Nodes: p.Nodes, Networks: p.Networks}
		}
		f.addEgress(i, r.Name, string(r.Action), to, r.Ports)
	}
	return f
}

func (f *clusterForm) addIngress(
	i int, name, action string, from []v1alpha1.AdminNetworkPolicyIngressPeer, ports *[]v1alpha1.AdminNetworkPolicyPort,
) {
	rule := newClusterRule(intent.Ingress, i, name, action, "ports", protocolsOf(ports))
	for _, p := range from {
		rule.peers = append(rule.peers, v1alpha2.ClusterNetworkPolicyEgressPeer{Namespaces: p.Namespaces, Pods: namespacedPod(p.Pods)})
	}
	f.rules[intent.Ingress] = append(f.rules[intent.Ingress], rule)
}

func (f *clusterForm) addEgress(
	i int, name, action string, to []v1alpha1.AdminNetworkPolicyEgressPeer, ports *[]v1alpha1.AdminNetworkPolicyPort,
) {
	rule := newClusterRule(intent.Egress, i, name, action, "ports", protocolsOf(ports))
	for _, p := range to {
		peer := v1alpha2.ClusterNetworkPolicyEgressPeer{Namespaces: p.Namespaces, Pods: namespacedPod(p.Pods), Nodes: p.Nodes}
		for _, n := range p.Networks {
			peer.Networks = append(peer.Networks, v1alpha2.CIDR(n))
		}
		for _, n := range p.DomainNames {
			peer.DomainNames = append(peer.DomainNames, v1alpha2.DomainName(n))
		}
		rule.peers = append(rule.peers, peer)
	}
	f.rules[intent.Egress] = append(f.rules[intent.Egress], rule)
}

func subjectOf(s *v1alpha1.AdminNetworkPolicySubject) v1alpha2.ClusterNetworkPolicySubject {
	return v1alpha2.ClusterNetworkPolicySubject{Namespaces: s.Namespaces, Pods: namespacedPod(s.Pods)}
}

func namespacedPod(p *v1alpha1.NamespacedPod) *v1alpha2.NamespacedPod {
	if p == nil {
		return nil
	}
	return &v1alpha2.NamespacedPod{NamespaceSelector: p.NamespaceSelector, PodSelector: p.PodSelector}
}

// protocolsOf returns ports of the older kinds as protocols. An element that sets several fields or has another protocol
// becomes one that cannot be understood either.
func protocolsOf(ports *[]v1alpha1.AdminNetworkPolicyPort) []v1alpha2.ClusterNetworkPolicyProtocol {
	if ports == nil {
		return nil
	}
	out := []v1alpha2.ClusterNetworkPolicyProtocol{}
	for i := range *ports {
		p := &(*ports)[i]
		var protocol v1alpha2.ClusterNetworkPolicyProtocol
		if n := p.PortNumber; n != nil {
			setProtocol(&protocol, n.Protocol, &v1alpha2.Port{Number: n.Port})
		}
		if r := p.PortRange; r != nil {
			setProtocol(&protocol, r.Protocol, &v1alpha2.Port{Range: &v1alpha2.PortRange{Start: r.Start, End: r.End}})
		}
		if p.NamedPort != nil {
			protocol.DestinationNamedPort = *p.NamedPort
		}
		fields := 0
		for _, set := range []bool{p.PortNumber != nil, p.PortRange != nil, p.NamedPort != nil} {
			if set {
				fields++
			}
		}
		if fields != 1 {
			protocol = v1alpha2.ClusterNetworkPolicyProtocol{}
		}
		out = append(out, protocol)
	}
	return out
}
