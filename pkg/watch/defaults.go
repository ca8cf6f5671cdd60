package watch

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// completePolicy fills in policy types and protocols.
func completePolicy(p *networkingv1.NetworkPolicy) {
	if len(p.Spec.PolicyTypes) == 0 {
		p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(p.Spec.Egress) > 0 {
			p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	for i := range p.Spec.Ingress {
		completePorts(p.Spec.Ingress[i].Ports)
	}
	for i := range p.Spec.Egress {
		completePorts(p.Spec.Egress[i].Ports)
	}
}

func completePorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		if ports[i].Protocol == nil {
			tcp := corev1.ProtocolTCP
			ports[i].Protocol = &tcp
		}
	}
}

// completeNamespace sets the label that the API server keeps on every namespace, whatever the manifest says of it.
func completeNamespace(n *corev1.Namespace) {
	if n.Name == "" {
		return
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelMetadataName] = n.Name
}

// completePod fills in container protocols and makes the two spellings of a pod's addresses agree. A pod that has an
// address and does not say its phase runs.
func completePod(p *corev1.Pod) {
	for _, containers := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range containers {
			for j := range containers[i].Ports {
				if port := &containers[i].Ports[j]; port.Protocol == "" {
					port.Protocol = corev1.ProtocolTCP
				}
			}
		}
	}
	s := &p.Status
	switch {
	case s.PodIP != "" && len(s.PodIPs) == 0:
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	case s.PodIP == "" && len(s.PodIPs) > 0:
		s.PodIP = s.PodIPs[0].IP
	}
	if s.Phase == "" {
		s.Phase = corev1.PodPending
		if s.PodIP != "" {
			s.Phase = corev1.PodRunning
		}
	}
}
