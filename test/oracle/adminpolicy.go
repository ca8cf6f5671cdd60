package oracle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
)

const allow = string(v1alpha1.AdminNetworkPolicyRuleActionAllow)

func (z *Frozen) readAdminPolicy(p *v1alpha1.AdminNetworkPolicy) *clusterPolicy {
	r := &clusterPolicy{kind: "AdminNetworkPolicy", name: p.Name, tier: v1alpha2.AdminTier, priority: p.Spec.Priority}
	var ingress, egress []ruleFields
	for _, rule := range p.Spec.Ingress {
		fields := adminRule(knownAs(string(rule.Action), allow, allow, deny, pass), rule.Ports)
		fields.peers = sourcesOf(rule.From)
		ingress = append(ingress, fields)
	}
	for _, rule := range p.Spec.Egress {
		fields := adminRule(knownAs(string(rule.Action), allow, allow, deny, pass), rule.Ports)
		for _, to := range rule.To {
			f := podFields(to.Pods)
			f.namespaces, f.nodes = to.Namespaces, to.Nodes
			for _, n := range to.Networks {
				f.networks = append(f.networks, string(n))
			}
			for _, n := range to.DomainNames {
				f.domains = append(f.domains, string(n))
			}
			fields.peers = append(fields.peers, f)
		}
		egress = append(egress, fields)
	}
	z.finish(r, adminSubject(&p.Spec.Subject), ingress, egress)
	return r
}

func (z *Frozen) readBaselinePolicy(p *v1alpha1.BaselineAdminNetworkPolicy) *clusterPolicy {
	r := &clusterPolicy{kind: "BaselineAdminNetworkPolicy", name: p.Name, tier: v1alpha2.BaselineTier, last: true}
	var ingress, egress []ruleFields
	for _, rule := range p.Spec.Ingress {
		fields := adminRule(knownAs(string(rule.Action), allow, allow, deny), rule.Ports)
		fields.peers = sourcesOf(rule.From)
		ingress = append(ingress, fields)
	}
	for _, rule := range p.Spec.Egress {
		fields := adminRule(knownAs(string(rule.Action), allow, allow, deny), rule.Ports)
		for _, to := range rule.To {
			f := podFields(to.Pods)
			f.namespaces, f.nodes = to.Namespaces, to.Nodes
			for _, n := range to.Networks {
				f.networks = append(f.networks, string(n))
			}
			fields.peers = append(fields.peers, f)
		}
		egress = append(egress, fields)
	}
	z.finish(r, adminSubject(&p.Spec.Subject), ingress, egress)
	return r
}

func adminSubject(s *v1alpha1.AdminNetworkPolicySubject) peerFields {
	f := podFields(s.Pods)
	f.namespaces = s.Namespaces
	return f
}

func podFields(p *v1alpha1.NamespacedPod) peerFields {
	if p == nil {
		return peerFields{}
	}
	return peerFields{podNamespaces: &p.NamespaceSelector, pods: &p.PodSelector}
}

func sourcesOf(from []v1alpha1.AdminNetworkPolicyIngressPeer) []peerFields {
	var all []peerFields
	for _, p := range from {
		f := podFields(p.Pods)
		f.namespaces = p.Namespaces
		all = append(all, f)
	}
	return all
}

// adminRule reads the ports of a rule. Their protocol defaults to TCP.
func adminRule(action string, ports *[]v1alpha1.AdminNetworkPolicyPort) ruleFields {
	fields := ruleFields{action: action, filtered: ports != nil}
	if ports == nil {
		return fields
	}
	for _, p := range *ports {
		var f portFields
		set := func(protocol corev1.Protocol, first, last int32) {
			if protocol == "" {
				protocol = corev1.ProtocolTCP
			}
			f.fields++
			f.first, f.last = first, last
			if slices.Contains([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}, protocol) {
				f.protocol = protocol
			}
		}
		if n := p.PortNumber; n != nil {
			set(n.Protocol, n.Port, n.Port)
		}
		if r := p.PortRange; r != nil {
			set(r.Protocol, r.Start, r.End)
		}
		if p.NamedPort != nil {
			f.fields, f.name = f.fields+1, *p.NamedPort
		}
		fields.ports = append(fields.ports, f)
	}
	return fields
}
