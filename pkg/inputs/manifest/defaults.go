package manifest

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/pkg/inputs/source"
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

// completeNamespace sets the label that the API server keeps on every namespace, whatever value the manifest has.
func completeNamespace(n *corev1.Namespace) {
	if n.Name == "" {
		return
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelMetadataName] = n.Name
}

// completePod fills in container protocols and makes the two spellings of a pod's addresses equal. A pod with an address
// and no phase is running; a running pod without a Ready condition is ready.
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
	if s.Phase == corev1.PodRunning && s.PodIP != "" {
		completeReadiness(s)
	}
}

// completeService fills in what the API server does without allocating anything. The older and the newer field for cluster
// IPs are made equal, whichever is given.
func completeService(s *corev1.Service) {
	spec := &s.Spec
	if spec.Type == "" {
		spec.Type = corev1.ServiceTypeClusterIP
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		if p.TargetPort == intstr.FromInt32(0) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	completeAffinity(spec)
	if isExternal(s) && spec.ExternalTrafficPolicy == "" {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if spec.InternalTrafficPolicy == nil && spec.Type != corev1.ServiceTypeExternalName {
		everywhere := corev1.ServiceInternalTrafficPolicyCluster
		spec.InternalTrafficPolicy = &everywhere
	}
	source.CompleteClusterIPs(spec)
	completeFamilies(spec)
	for i := range s.Status.LoadBalancer.Ingress {
		if in := &s.Status.LoadBalancer.Ingress[i]; in.IP != "" && in.IPMode == nil {
			vip := corev1.LoadBalancerIPModeVIP
			in.IPMode = &vip
		}
	}
}

func completeAffinity(spec *corev1.ServiceSpec) {
	switch spec.SessionAffinity {
	case "":
		spec.SessionAffinity, spec.SessionAffinityConfig = corev1.ServiceAffinityNone, nil
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		c := spec.SessionAffinityConfig
		if c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
			timeout := corev1.DefaultClientIPServiceAffinitySeconds
			spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{
				ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &timeout},
			}
		}
	}
}

// completeFamilies derives families from addresses. A service without addresses has those that a server would choose, which
// cannot be known here.
func completeFamilies(spec *corev1.ServiceSpec) {
	if spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	if len(spec.IPFamilies) == 0 {
		for _, ip := range spec.ClusterIPs {
			if f := familyOf(ip); f != "" {
				spec.IPFamilies = append(spec.IPFamilies, f)
			}
		}
	}
	if spec.IPFamilyPolicy == nil && len(spec.IPFamilies) > 0 {
		policy := corev1.IPFamilyPolicySingleStack
		if len(spec.IPFamilies) > 1 || len(spec.ClusterIPs) > 1 {
			policy = corev1.IPFamilyPolicyRequireDualStack
		}
		spec.IPFamilyPolicy = &policy
	}
}

// completeSlice fills in names and protocols of ports. Conditions that are not given stay unset: that has a meaning.
func completeSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.Name == nil {
			name := ""
			p.Name = &name
		}
		if p.Protocol == nil {
			tcp := corev1.ProtocolTCP
			p.Protocol = &tcp
		}
	}
}

// completeReadiness makes a pod ready if its manifest does not report readiness.
func completeReadiness(s *corev1.PodStatus) {
	for i := range s.Conditions {
		if s.Conditions[i].Type == corev1.PodReady {
			return
		}
	}
	s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
}
