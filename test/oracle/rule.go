package oracle

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// admitsPeer reports whether the peers of r include the address, either directly or as a pod's address.
func (z *Frozen) admitsPeer(ns string, r *rule, a netip.Addr) bool {
	if z.admitsPod(ns, r, nil, a) {
		return true
	}
	if pod := z.owner[a]; pod != nil {
		if z.admitsPod(ns, r, pod, a) {
			return true
		}
	}
	return false
}

// admitsPod reports whether the peers of r include pod at address a; a nil pod is an address without a pod. A rule
// without peers admits everything. Peers are alternatives.
func (z *Frozen) admitsPod(ns string, r *rule, pod *corev1.Pod, a netip.Addr) bool {
	if len(r.peers) == 0 {
		return true
	}
	for i := range r.peers {
		if z.isPeer(ns, &r.peers[i], pod, a) {
			return true
		}
	}
	return false
}

// isPeer reports whether one peer matches pod at address a. Blocks match pods' addresses like any other; selectors match
// pods only, and both selectors of one peer must match.
func (z *Frozen) isPeer(ns string, p *networkingv1.NetworkPolicyPeer, pod *corev1.Pod, a netip.Addr) bool {
	if p.IPBlock != nil {
		return p.PodSelector == nil && p.NamespaceSelector == nil && inBlock(p.IPBlock, a)
	}
	if pod == nil || (p.PodSelector == nil && p.NamespaceSelector == nil) {
		return false
	}
	if !z.reaches(pod, p.PodSelector, p.NamespaceSelector) {
		return false
	}
	if p.NamespaceSelector == nil {
		if pod.Namespace != ns {
			return false
		}
	} else {
		labels, exists := z.spaceLabels(pod)
		if !exists || !selects(p.NamespaceSelector, labels) {
			return false
		}
	}
	return p.PodSelector == nil || selects(p.PodSelector, z.podLabels(pod))
}

// portMatches reports whether the flow goes to one of ports. No ports at all mean every port of every protocol. Names are
// those of pod; without a pod no name matches.
func portMatches(ports []networkingv1.NetworkPolicyPort, pod *corev1.Pod, f Flow) bool {
	if len(ports) == 0 {
		return true
	}
	for i := range ports {
		if isPort(&ports[i], pod, f) {
			return true
		}
	}
	return false
}

func isPort(p *networkingv1.NetworkPolicyPort, pod *corev1.Pod, f Flow) bool {
	protocol := corev1.ProtocolTCP
	if p.Protocol != nil {
		protocol = *p.Protocol
	}
	if protocol != f.Protocol || f.Protocol == ICMP {
		return false
	}
	switch {
	case p.Port == nil:
		return p.EndPort == nil
	case p.Port.Type == intstr.String:
		if p.EndPort != nil || pod == nil {
			return false
		}
		number, ok := namedPort(pod, p.Port.StrVal, protocol)
		return ok && number == f.Port
	case p.EndPort != nil:
		return p.Port.IntVal <= f.Port && f.Port <= *p.EndPort
	default:
		return p.Port.IntVal == f.Port
	}
}
