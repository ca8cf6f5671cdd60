package policygen

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func (g *generator) policy(ns, name string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: g.meta(ns, name, nil), Spec: g.spec()}
}

// spec makes the spec of a policy. Types and sections are chosen independently, so that sections without effect and types
// without rules occur.
func (g *generator) spec() networkingv1.NetworkPolicySpec {
	s := networkingv1.NetworkPolicySpec{}
	if !g.chance(25) {
		s.PodSelector = g.selector(podAlphabet())
	}
	const in, out = networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress
	s.PolicyTypes = pick(g, [][]networkingv1.PolicyType{nil, nil, {}, {in}, {in}, {out}, {out}, {in, out}, {in, out}, {out, in}})
	switch n := g.rng.IntN(6); n {
	case 0: // no section
	case 1:
		s.Ingress = []networkingv1.NetworkPolicyIngressRule{}
	default:
		for range 1 + g.rng.IntN(3) {
			s.Ingress = append(s.Ingress, networkingv1.NetworkPolicyIngressRule{From: g.peers(), Ports: g.ports()})
		}
	}
	switch n := g.rng.IntN(6); n {
	case 0: // no section
	case 1:
		s.Egress = []networkingv1.NetworkPolicyEgressRule{}
	default:
		for range 1 + g.rng.IntN(3) {
			s.Egress = append(s.Egress, networkingv1.NetworkPolicyEgressRule{To: g.peers(), Ports: g.ports()})
		}
	}
	return s
}

// selector makes a selector over an alphabet; about one in five is empty.
func (g *generator) selector(alphabet []label) metav1.LabelSelector {
	var s metav1.LabelSelector
	if g.chance(60) {
		s.MatchLabels = map[string]string{}
		for range 1 + g.rng.IntN(4)/3 {
			l := pick(g, alphabet)
			s.MatchLabels[l.key] = pick(g, l.values)
		}
	}
	if g.chance(50) {
		for range 1 + g.rng.IntN(2) {
			s.MatchExpressions = append(s.MatchExpressions, g.requirement(alphabet))
		}
	}
	return s
}

func (g *generator) requirement(alphabet []label) metav1.LabelSelectorRequirement {
	l := pick(g, alphabet)
	r := metav1.LabelSelectorRequirement{Key: l.key, Operator: pick(g, []metav1.LabelSelectorOperator{
		metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
	})}
	if g.chance(5) {
		r.Key = "nobody-has-it"
	}
	if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
		for range 1 + g.rng.IntN(2) {
			r.Values = append(r.Values, pick(g, l.values)) // occasionally the same one twice
		}
		if g.chance(20) {
			r.Values = append(r.Values, "unused")
		}
	}
	return r
}

// peers makes a list of peers: absent, empty, or up to three.
func (g *generator) peers() []networkingv1.NetworkPolicyPeer {
	switch g.rng.IntN(10) {
	case 0:
		return nil
	case 1:
		return []networkingv1.NetworkPolicyPeer{}
	}
	var peers []networkingv1.NetworkPolicyPeer
	for range 1 + g.rng.IntN(3) {
		peers = append(peers, g.peer())
	}
	return peers
}

func (g *generator) peer() networkingv1.NetworkPolicyPeer {
	var p networkingv1.NetworkPolicyPeer
	kind := g.rng.IntN(4)
	if kind == 0 {
		p.IPBlock = g.block()
		return p
	}
	if g.odd && g.chance(5) {
		return p
	}
	if kind != 1 {
		pods := g.selector(podAlphabet())
		p.PodSelector = &pods
	}
	if kind != 2 {
		namespaces := g.selector(namespaceAlphabet())
		if g.chance(20) {
			namespaces = metav1.LabelSelector{}
		}
		if g.chance(15) {
			namespaces = metav1.LabelSelector{MatchLabels: map[string]string{
				"kubernetes.io/metadata.name": namespaceName(g.rng.IntN(4)),
			}}
		}
		p.NamespaceSelector = &namespaces
	}
	return p
}

// ports makes a list of ports: absent, empty, or up to three that may overlap.
func (g *generator) ports() []networkingv1.NetworkPolicyPort {
	switch g.rng.IntN(8) {
	case 0, 1:
		return nil
	case 2:
		return []networkingv1.NetworkPolicyPort{}
	}
	var ports []networkingv1.NetworkPolicyPort
	for range 1 + g.rng.IntN(3) {
		ports = append(ports, g.port())
	}
	return ports
}

func (g *generator) port() networkingv1.NetworkPolicyPort {
	var p networkingv1.NetworkPolicyPort
	if g.chance(70) {
		protocol := pick(g, protocols())
		p.Protocol = &protocol
	}
	number := pick(g, portNumbers())
	switch g.rng.IntN(10) {
	case 0:
		return p
	case 1, 2, 3:
		name := intstr.FromString(pick(g, append(portNames(), "nobody")))
		p.Port = &name
		return p
	case 4, 5:
		end := number + pick(g, []int32{0, 1, 2, 27, 400})
		p.EndPort = &end
	case 6:
		if g.chance(20) {
			number = 1024
			end := int32(65535)
			p.EndPort = &end
		}
	}
	if g.odd && p.EndPort != nil && g.chance(10) {
		*p.EndPort = number - 1
	}
	port := intstr.FromInt32(number)
	p.Port = &port
	return p
}
