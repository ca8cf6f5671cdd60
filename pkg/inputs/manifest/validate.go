package manifest

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/netloom/netloom/pkg/object/address"
)

// The rules and their wording are those of the API server. It exports the building blocks, but not the rules of these
// kinds.

func validatePolicy(p *networkingv1.NetworkPolicy) field.ErrorList {
	faults := validateMeta(&p.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	spec := field.NewPath("spec")
	faults = append(faults, validateSelector(&p.Spec.PodSelector, spec.Child("podSelector"))...)
	for i, rule := range p.Spec.Ingress {
		at := spec.Child("ingress").Index(i)
		faults = append(faults, validatePorts(rule.Ports, at.Child("ports"))...)
		faults = append(faults, validatePeers(rule.From, at.Child("from"))...)
	}
	for i, rule := range p.Spec.Egress {
		at := spec.Child("egress").Index(i)
		faults = append(faults, validatePorts(rule.Ports, at.Child("ports"))...)
		faults = append(faults, validatePeers(rule.To, at.Child("to"))...)
	}
	return append(faults, validatePolicyTypes(p.Spec.PolicyTypes, spec.Child("policyTypes"))...)
}

func validatePolicyTypes(types []networkingv1.PolicyType, at *field.Path) field.ErrorList {
	allowed := []networkingv1.PolicyType{networkingv1.PolicyTypeEgress, networkingv1.PolicyTypeIngress}
	if len(types) > len(allowed) {
		return field.ErrorList{field.Invalid(at, types, "may not specify more than two policyTypes")}
	}
	var faults field.ErrorList
	for i, t := range types {
		if t != networkingv1.PolicyTypeIngress && t != networkingv1.PolicyTypeEgress {
			faults = append(faults, field.NotSupported(at.Index(i), t, allowed))
		}
	}
	return faults
}

func validatePorts(ports []networkingv1.NetworkPolicyPort, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	for i := range ports {
		faults = append(faults, validatePort(&ports[i], at.Index(i))...)
	}
	return faults
}

func validatePort(p *networkingv1.NetworkPolicyPort, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	if p.Protocol != nil {
		faults = validateProtocol(*p.Protocol, at.Child("protocol"))
	}
	end := at.Child("endPort")
	switch {
	case p.Port == nil:
		if p.EndPort != nil {
			faults = append(faults, field.Invalid(end, *p.EndPort, "may not be specified when `port` is not specified"))
		}
	case p.Port.Type == intstr.Int:
		for _, msg := range validation.IsValidPortNum(int(p.Port.IntVal)) {
			faults = append(faults, field.Invalid(at.Child("port"), p.Port.IntVal, msg))
		}
		if p.EndPort == nil {
			break
		}
		if *p.EndPort < p.Port.IntVal {
			faults = append(faults, field.Invalid(end, *p.EndPort, "must be greater than or equal to `port`"))
		}
		for _, msg := range validation.IsValidPortNum(int(*p.EndPort)) {
			faults = append(faults, field.Invalid(end, *p.EndPort, msg))
		}
	default:
		if p.EndPort != nil {
			faults = append(faults, field.Invalid(end, *p.EndPort, "may not be specified when `port` is non-numeric"))
		}
		for _, msg := range validation.IsValidPortName(p.Port.StrVal) {
			faults = append(faults, field.Invalid(at.Child("port"), p.Port.StrVal, msg))
		}
	}
	return faults
}

func validateProtocol(p corev1.Protocol, at *field.Path) field.ErrorList {
	switch p {
	case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		return nil
	default:
		known := []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
		return field.ErrorList{field.NotSupported(at, p, known)}
	}
}

func validatePeers(peers []networkingv1.NetworkPolicyPeer, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	for i, peer := range peers {
		at := at.Index(i)
		selects := peer.PodSelector != nil || peer.NamespaceSelector != nil
		faults = append(faults, validateSelector(peer.PodSelector, at.Child("podSelector"))...)
		faults = append(faults, validateSelector(peer.NamespaceSelector, at.Child("namespaceSelector"))...)
		switch {
		case peer.IPBlock != nil:
			faults = append(faults, validateBlock(peer.IPBlock, at.Child("ipBlock"))...)
			if selects {
				faults = append(faults, field.Forbidden(at, "may not specify both ipBlock and another peer"))
			}
		case !selects:
			faults = append(faults, field.Required(at, "must specify a peer"))
		}
	}
	return faults
}

func validateBlock(b *networkingv1.IPBlock, at *field.Path) field.ErrorList {
	if b.CIDR == "" {
		return field.ErrorList{field.Required(at.Child("cidr"), "")}
	}
	cidr, faults := validatePrefix(b.CIDR, at.Child("cidr"))
	for i, s := range b.Except {
		except, wrong := validatePrefix(s, at.Child("except").Index(i))
		faults = append(faults, wrong...)
		if !cidr.IsValid() || !except.IsValid() {
			continue
		}
		if !cidr.Contains(except.Addr()) || cidr.Bits() >= except.Bits() {
			faults = append(faults,
				field.Invalid(at.Child("except").Index(i), s, "must be a strict subset of `cidr`"))
		}
	}
	return faults
}

// validatePrefix parses a CIDR in any notation that servers before 1.36 took, with bits beyond the prefix length, leading zeros or as an
// IPv4-mapped block: stored policies have them, and package address reads all alike.
func validatePrefix(s string, at *field.Path) (netip.Prefix, field.ErrorList) {
	if faults := validation.IsValidCIDRForLegacyField(at, s, false, nil); len(faults) > 0 {
		return netip.Prefix{}, faults
	}
	p, err := address.ParsePrefix(s)
	if err != nil {
		return p, field.ErrorList{field.Invalid(at, s, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")}
	}
	return p, nil
}

// validateAddress is validatePrefix for an address.
func validateAddress(s string, at *field.Path) field.ErrorList {
	return validation.IsValidIPForLegacyField(at, s, false, nil)
}

func validateSelector(s *metav1.LabelSelector, at *field.Path) field.ErrorList {
	return metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, at)
}

func validateMeta(m *metav1.ObjectMeta, namespaced bool, name apivalidation.ValidateNameFunc) field.ErrorList {
	return apivalidation.ValidateObjectMeta(m, namespaced, name, field.NewPath("metadata"))
}

func validateNamespace(n *corev1.Namespace) field.ErrorList {
	return validateMeta(&n.ObjectMeta, false, apivalidation.ValidateNamespaceName)
}

func validateNode(n *corev1.Node) field.ErrorList {
	faults := validateMeta(&n.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	for i, s := range n.Spec.PodCIDRs {
		_, wrong := validatePrefix(s, field.NewPath("spec", "podCIDRs").Index(i))
		faults = append(faults, wrong...)
	}
	for i, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
			at := field.NewPath("status", "addresses").Index(i).Child("address")
			faults = append(faults, validateAddress(a.Address, at)...)
		}
	}
	return faults
}

// validatePod validates the part of a pod that matters for the network. A pod that no server would run, for lack of an
// image for example, is good enough for a policy.
func validatePod(p *corev1.Pod) field.ErrorList {
	faults := validateMeta(&p.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	spec, status := field.NewPath("spec"), field.NewPath("status")
	faults = append(faults, validateContainers(p.Spec.InitContainers, spec.Child("initContainers"))...)
	faults = append(faults, validateContainers(p.Spec.Containers, spec.Child("containers"))...)
	if p.Spec.NodeName != "" {
		for _, msg := range apivalidation.NameIsDNSSubdomain(p.Spec.NodeName, false) {
			faults = append(faults, field.Invalid(spec.Child("nodeName"), p.Spec.NodeName, msg))
		}
	}
	switch p.Status.Phase {
	case corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown:
	default:
		faults = append(faults, field.NotSupported(status.Child("phase"), p.Status.Phase, []corev1.PodPhase{
			corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown,
		}))
	}
	if p.Status.PodIP != "" {
		faults = append(faults, validateAddress(p.Status.PodIP, status.Child("podIP"))...)
	}
	for i, ip := range p.Status.PodIPs {
		at := status.Child("podIPs").Index(i)
		switch {
		case i == 0 && ip.IP != p.Status.PodIP:
			faults = append(faults, field.Invalid(at.Child("ip"), ip.IP, "must be equal to `status.podIP`"))
		case i > 0:
			faults = append(faults, validateAddress(ip.IP, at.Child("ip"))...)
		}
	}
	return faults
}

func validateContainers(containers []corev1.Container, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	for i := range containers {
		names := map[string]bool{}
		for j, p := range containers[i].Ports {
			at := at.Index(i).Child("ports").Index(j)
			if p.Name != "" {
				for _, msg := range validation.IsValidPortName(p.Name) {
					faults = append(faults, field.Invalid(at.Child("name"), p.Name, msg))
				}
				if names[p.Name] {
					faults = append(faults, field.Duplicate(at.Child("name"), p.Name))
				}
				names[p.Name] = true
			}
			if p.ContainerPort == 0 {
				faults = append(faults, field.Required(at.Child("containerPort"), ""))
			} else {
				for _, msg := range validation.IsValidPortNum(int(p.ContainerPort)) {
					faults = append(faults, field.Invalid(at.Child("containerPort"), p.ContainerPort, msg))
				}
			}
			faults = append(faults, validateProtocol(p.Protocol, at.Child("protocol"))...)
		}
	}
	return faults
}
