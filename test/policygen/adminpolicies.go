package policygen

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
)

// nodeAlphabet is the labels of nodes that peers select.
func nodeAlphabet() []label { return []label{{"disk", []string{"ssd", "hdd"}}} }

// labelNode gives a node a label, or takes it away.
func (g *generator) labelNode(n *corev1.Node) {
	labels := map[string]string{}
	for k, v := range n.Labels {
		labels[k] = v
	}
	delete(labels, "disk")
	for k, v := range g.labels(nodeAlphabet()) {
		labels[k] = v
	}
	n.Labels = labels
}

// domainNames are names that peers have. The resolver answers for some, and never for a wildcard.
func domainNames() []string {
	return []string{"db.example.com", "DB.example.com.", "api.example.com", "*.example.com", "nowhere.example.com"}
}

// answer changes the answer of DNS for a name: addresses in the cluster or outside, or none.
func (g *generator) answer(name string) {
	answers := map[string][]netip.Addr{}
	for k, v := range g.c.Answers {
		answers[k] = v
	}
	delete(answers, name)
	if name == "db.example.com" || name == "api.example.com" {
		var addrs []netip.Addr
		for range g.rng.IntN(4) {
			addrs = append(addrs, g.prefix().Addr())
		}
		if len(g.c.Pods) > 0 && g.chance(50) {
			addrs = append(addrs, podAddrs(pick(g, g.c.Pods))...)
		}
		answers[name] = addrs
	}
	g.c.Answers = answers
}

func (g *generator) adminPolicy(name string) *v1alpha1.AdminNetworkPolicy {
	s := g.clusterSpec()
	p := &v1alpha1.AdminNetworkPolicy{ObjectMeta: g.meta("", name, nil)}
	p.Spec.Priority, p.Spec.Subject = s.Priority, g.adminSubject()
	for i := range s.Ingress {
		r := &s.Ingress[i]
		p.Spec.Ingress = append(p.Spec.Ingress, v1alpha1.AdminNetworkPolicyIngressRule{
			Name: r.Name, Action: v1alpha1.AdminNetworkPolicyRuleAction(g.action("Allow")),
			From: adminSources(r.From), Ports: g.adminPorts(r.Protocols),
		})
	}
	for i := range s.Egress {
		r := &s.Egress[i]
		p.Spec.Egress = append(p.Spec.Egress, v1alpha1.AdminNetworkPolicyEgressRule{
			Name: r.Name, Action: adminAction(g, r.Action), To: adminPeers(r.To), Ports: g.adminPorts(r.Protocols),
		})
	}
	return p
}

// adminAction translates an action of a rule with fitting peers.
func adminAction(g *generator, a v1alpha2.ClusterNetworkPolicyRuleAction) v1alpha1.AdminNetworkPolicyRuleAction {
	if a == v1alpha2.ClusterNetworkPolicyRuleActionAccept && !g.oddly(4) {
		return v1alpha1.AdminNetworkPolicyRuleActionAllow
	}
	return v1alpha1.AdminNetworkPolicyRuleAction(a)
}

// baselinePolicy makes the only BaselineAdminNetworkPolicy that a cluster may have.
func (g *generator) baselinePolicy() *v1alpha1.BaselineAdminNetworkPolicy {
	s := g.clusterSpec()
	p := &v1alpha1.BaselineAdminNetworkPolicy{ObjectMeta: g.meta("", "default", nil)}
	p.Spec.Subject = g.adminSubject()
	action := func(a v1alpha2.ClusterNetworkPolicyRuleAction) v1alpha1.BaselineAdminNetworkPolicyRuleAction {
		if a == v1alpha2.ClusterNetworkPolicyRuleActionPass && !g.oddly(20) {
			a = v1alpha2.ClusterNetworkPolicyRuleActionDeny
		}
		return v1alpha1.BaselineAdminNetworkPolicyRuleAction(adminAction(g, a))
	}
	for i := range s.Ingress {
		r := &s.Ingress[i]
		p.Spec.Ingress = append(p.Spec.Ingress, v1alpha1.BaselineAdminNetworkPolicyIngressRule{
			Name: r.Name, Action: action(r.Action), From: adminSources(r.From), Ports: g.adminPorts(r.Protocols),
		})
	}
	for i := range s.Egress {
		r := &s.Egress[i]
		rule := v1alpha1.BaselineAdminNetworkPolicyEgressRule{Name: r.Name, Action: action(r.Action), Ports: g.adminPorts(r.Protocols)}
		for _, to := range adminPeers(r.To) {
			if len(to.DomainNames) > 0 { // which this kind does not have
				to.Networks = append(to.Networks, v1alpha1.CIDR(g.spell(g.prefix())))
			}
			rule.To = append(rule.To, v1alpha1.BaselineAdminNetworkPolicyEgressPeer{
				Namespaces: to.Namespaces, Pods: to.Pods, Nodes: to.Nodes, Networks: to.Networks,
			})
		}
		p.Spec.Egress = append(p.Spec.Egress, rule)
	}
	return p
}

func (g *generator) adminSubject() v1alpha1.AdminNetworkPolicySubject {
	namespaces, pods := g.podPeer()
	return v1alpha1.AdminNetworkPolicySubject{Namespaces: namespaces, Pods: adminPods(pods)}
}

func adminPods(p *v1alpha2.NamespacedPod) *v1alpha1.NamespacedPod {
	if p == nil {
		return nil
	}
	return &v1alpha1.NamespacedPod{NamespaceSelector: p.NamespaceSelector, PodSelector: p.PodSelector}
}

func adminSources(from []v1alpha2.ClusterNetworkPolicyIngressPeer) []v1alpha1.AdminNetworkPolicyIngressPeer {
	var all []v1alpha1.AdminNetworkPolicyIngressPeer
	for _, p := range from {
		all = append(all, v1alpha1.AdminNetworkPolicyIngressPeer{Namespaces: p.Namespaces, Pods: adminPods(p.Pods)})
	}
	return all
}

func adminPeers(to []v1alpha2.ClusterNetworkPolicyEgressPeer) []v1alpha1.AdminNetworkPolicyEgressPeer {
	var all []v1alpha1.AdminNetworkPolicyEgressPeer
	for _, p := range to {
		peer := v1alpha1.AdminNetworkPolicyEgressPeer{Namespaces: p.Namespaces, Pods: adminPods(p.Pods), Nodes: p.Nodes}
		for _, n := range p.Networks {
			peer.Networks = append(peer.Networks, v1alpha1.CIDR(n))
		}
		for _, n := range p.DomainNames {
			peer.DomainNames = append(peer.DomainNames, v1alpha1.DomainName(n))
		}
		all = append(all, peer)
	}
	return all
}

// adminPorts spells protocols as ports of the older kinds.
func (g *generator) adminPorts(protocols []v1alpha2.ClusterNetworkPolicyProtocol) *[]v1alpha1.AdminNetworkPolicyPort {
	if protocols == nil {
		return nil
	}
	all := []v1alpha1.AdminNetworkPolicyPort{}
	for _, p := range protocols {
		var port v1alpha1.AdminNetworkPolicyPort
		spell := func(protocol corev1.Protocol, of *v1alpha2.Port) {
			if of == nil {
				return
			}
			if g.oddly(4) {
				protocol = pick(g, []corev1.Protocol{"", "ICMP"})
			}
			if of.Number != 0 {
				port.PortNumber = &v1alpha1.Port{Protocol: protocol, Port: of.Number}
			}
			if of.Range != nil {
				port.PortRange = &v1alpha1.PortRange{Protocol: protocol, Start: of.Range.Start, End: of.Range.End}
			}
		}
		if p.TCP != nil {
			spell(corev1.ProtocolTCP, p.TCP.DestinationPort)
		}
		if p.UDP != nil {
			spell(corev1.ProtocolUDP, p.UDP.DestinationPort)
		}
		if p.SCTP != nil {
			spell(corev1.ProtocolSCTP, p.SCTP.DestinationPort)
		}
		if p.DestinationNamedPort != "" {
			name := p.DestinationNamedPort
			port.NamedPort = &name
		}
		all = append(all, port)
	}
	return &all
}
