package manifest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/netloom/netloom/pkg/object/address"
)

// The limits of the API server for a service.
const (
	maxFamilies        = 2
	maxAffinitySeconds = 86400
)

// validateService validates the part of a service that matters for the network. What a server allocates, such as addresses
// and node ports, may be missing: then the service has none.
func validateService(s *corev1.Service) field.ErrorList {
	faults := validateMeta(&s.ObjectMeta, true, apivalidation.NameIsDNSLabel)
	spec := field.NewPath("spec")
	types := []corev1.ServiceType{
		corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName,
		corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort,
	}
	faults = append(faults, oneOf(s.Spec.Type, types, spec.Child("type"))...)
	if len(s.Spec.Ports) == 0 && !isHeadless(s) && s.Spec.Type != corev1.ServiceTypeExternalName {
		faults = append(faults, field.Required(spec.Child("ports"), ""))
	}
	faults = append(faults, validateServicePorts(s, spec.Child("ports"))...)
	faults = append(faults, validateAffinity(&s.Spec, spec)...)
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		faults = append(faults, validateExternalName(&s.Spec, spec)...)
	} else {
		faults = append(faults, validateClusterIPs(s, spec)...)
		faults = append(faults, validateFamilies(&s.Spec, spec)...)
	}
	for i, ip := range s.Spec.ExternalIPs {
		faults = append(faults, validateUnicast(ip, spec.Child("externalIPs").Index(i))...)
	}
	faults = append(faults, validateSourceRanges(&s.Spec, spec.Child("loadBalancerSourceRanges"))...)
	faults = append(faults, validateTrafficPolicies(s, spec)...)
	return append(faults, validateLoadBalancerStatus(s, field.NewPath("status", "loadBalancer", "ingress"))...)
}

// oneOf validates a value of a fixed set.
func oneOf[T ~string](value T, known []T, at *field.Path) field.ErrorList {
	if slices.Contains(known, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at, value, known)}
}

// isHeadless reports whether a service has no address by intention.
func isHeadless(s *corev1.Service) bool { return s.Spec.ClusterIP == corev1.ClusterIPNone }

// isExternal reports whether a service can be reached at an address other than its cluster IPs.
func isExternal(s *corev1.Service) bool {
	switch s.Spec.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		return true
	case corev1.ServiceTypeClusterIP:
		return len(s.Spec.ExternalIPs) > 0
	case corev1.ServiceTypeExternalName:
		return false
	default:
		return false
	}
}

func validateServicePorts(s *corev1.Service, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	type socket struct {
		protocol corev1.Protocol
		port     int32
	}
	names, ports, nodePorts := map[string]bool{}, map[socket]bool{}, map[socket]bool{}
	for i := range s.Spec.Ports {
		p, at := &s.Spec.Ports[i], at.Index(i)
		faults = append(faults, validatePortLabel(p.Name, len(s.Spec.Ports) > 1, names, at.Child("name"))...)
		faults = append(faults, validatePortNumber(p.Port, at.Child("port"))...)
		faults = append(faults, validateProtocol(p.Protocol, at.Child("protocol"))...)
		faults = append(faults, validateTarget(p.TargetPort, at.Child("targetPort"))...)
		if own := (socket{p.Protocol, p.Port}); ports[own] {
			faults = append(faults, field.Duplicate(at, corev1.ServicePort{Protocol: p.Protocol, Port: p.Port}))
		} else {
			ports[own] = true
		}
		if p.NodePort == 0 {
			continue
		}
		at = at.Child("nodePort")
		faults = append(faults, validatePortNumber(p.NodePort, at)...)
		if s.Spec.Type == corev1.ServiceTypeClusterIP {
			faults = append(faults, field.Forbidden(at, "may not be used when `type` is 'ClusterIP'"))
		}
		if node := (socket{p.Protocol, p.NodePort}); nodePorts[node] {
			faults = append(faults, field.Duplicate(at, p.NodePort))
		} else {
			nodePorts[node] = true
		}
	}
	return faults
}

// validatePortLabel validates the name of a port of a service or of Endpoints: with several, each needs its own.
func validatePortLabel(name string, required bool, names map[string]bool, at *field.Path) field.ErrorList {
	if name == "" {
		if required {
			return field.ErrorList{field.Required(at, "")}
		}
		return nil
	}
	return validateSlicePortName(name, names, at)
}

func validateTarget(target intstr.IntOrString, at *field.Path) field.ErrorList {
	if target.Type == intstr.Int {
		return validatePortNumber(target.IntVal, at)
	}
	var faults field.ErrorList
	for _, msg := range validation.IsValidPortName(target.StrVal) {
		faults = append(faults, field.Invalid(at, target.StrVal, msg))
	}
	return faults
}

func validateAffinity(spec *corev1.ServiceSpec, at *field.Path) field.ErrorList {
	known := []corev1.ServiceAffinity{corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone}
	faults := oneOf(spec.SessionAffinity, known, at.Child("sessionAffinity"))
	config := at.Child("sessionAffinityConfig")
	switch c := spec.SessionAffinityConfig; {
	case spec.SessionAffinity == corev1.ServiceAffinityNone && c != nil:
		faults = append(faults, field.Forbidden(config, "must not be set when session affinity is None"))
	case spec.SessionAffinity != corev1.ServiceAffinityClientIP:
	case c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil:
		faults = append(faults, field.Required(config.Child("clientIP", "timeoutSeconds"), ""))
	case *c.ClientIP.TimeoutSeconds <= 0 || *c.ClientIP.TimeoutSeconds > maxAffinitySeconds:
		faults = append(faults, field.Invalid(config.Child("clientIP", "timeoutSeconds"), *c.ClientIP.TimeoutSeconds,
			"must be greater than 0 and less than 86400"))
	}
	return faults
}

func validateExternalName(spec *corev1.ServiceSpec, at *field.Path) field.ErrorList {
	const never = "may not be set for ExternalName services"
	var faults field.ErrorList
	if spec.ClusterIP != "" || len(spec.ClusterIPs) > 0 {
		faults = append(faults, field.Forbidden(at.Child("clusterIPs"), never))
	}
	if len(spec.IPFamilies) > 0 {
		faults = append(faults, field.Forbidden(at.Child("ipFamilies"), never))
	}
	if spec.IPFamilyPolicy != nil {
		faults = append(faults, field.Forbidden(at.Child("ipFamilyPolicy"), never))
	}
	return faults
}

func validateClusterIPs(s *corev1.Service, spec *field.Path) field.ErrorList {
	ips, at := s.Spec.ClusterIPs, spec.Child("clusterIPs")
	switch {
	case len(ips) == 0:
		return nil
	case len(ips) > maxFamilies:
		return field.ErrorList{field.Invalid(at, ips, "may only hold up to 2 values")}
	case ips[0] != s.Spec.ClusterIP:
		return field.ErrorList{field.Invalid(at, ips, "first value must match `clusterIP`")}
	}
	if slices.Contains(ips, corev1.ClusterIPNone) {
		if len(ips) > 1 {
			return field.ErrorList{field.Invalid(at, ips, "'None' must be the first and only value")}
		}
		if s.Spec.Type != corev1.ServiceTypeClusterIP {
			return field.ErrorList{
				field.Invalid(at.Index(0), ips[0], "may not be set to 'None' for "+string(s.Spec.Type)+" services"),
			}
		}
		return nil
	}
	var faults field.ErrorList
	var families []corev1.IPFamily
	for i, ip := range ips {
		faults = append(faults, validateAddress(ip, at.Index(i))...)
		families = append(families, familyOf(ip))
	}
	if len(faults) > 0 {
		return faults
	}
	if len(families) == maxFamilies && families[0] == families[1] {
		return field.ErrorList{field.Invalid(at, ips, "may specify no more than one IP for each IP family")}
	}
	for i, family := range s.Spec.IPFamilies {
		if i < len(families) && families[i] != family {
			faults = append(faults, field.Invalid(at.Index(i), ips[i],
				"expected an "+string(family)+" value as indicated by `ipFamilies`"))
		}
	}
	return faults
}

// familyOf returns the family of an address, "" if it is none.
func familyOf(ip string) corev1.IPFamily {
	a, err := address.Parse(ip)
	switch {
	case err != nil:
		return ""
	case a.Is4():
		return corev1.IPv4Protocol
	default:
		return corev1.IPv6Protocol
	}
}

func validateFamilies(spec *corev1.ServiceSpec, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	families := at.Child("ipFamilies")
	if len(spec.IPFamilies) > maxFamilies {
		faults = append(faults, field.Invalid(families, spec.IPFamilies, "may only hold up to 2 values"))
	}
	seen := map[corev1.IPFamily]bool{}
	for i, f := range spec.IPFamilies {
		faults = append(faults, oneOf(f, []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, families.Index(i))...)
		if seen[f] {
			faults = append(faults, field.Duplicate(families.Index(i), f))
		}
		seen[f] = true
	}
	if spec.IPFamilyPolicy == nil {
		return faults
	}
	policies := []corev1.IPFamilyPolicy{
		corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack,
	}
	policy := at.Child("ipFamilyPolicy")
	faults = append(faults, oneOf(*spec.IPFamilyPolicy, policies, policy)...)
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack && (len(spec.IPFamilies) > 1 || len(spec.ClusterIPs) > 1) {
		faults = append(faults, field.Invalid(policy, *spec.IPFamilyPolicy,
			"must be 'RequireDualStack' or 'PreferDualStack' when multiple ip families or cluster ips are specified"))
	}
	return faults
}

// validateSourceRanges validates the ranges as written: space around them has always been allowed.
func validateSourceRanges(spec *corev1.ServiceSpec, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	if len(spec.LoadBalancerSourceRanges) > 0 && spec.Type != corev1.ServiceTypeLoadBalancer {
		faults = append(faults, field.Forbidden(at, "may only be used when `type` is 'LoadBalancer'"))
	}
	for i, s := range spec.LoadBalancerSourceRanges {
		_, wrong := validatePrefix(strings.TrimSpace(s), at.Index(i))
		faults = append(faults, wrong...)
	}
	return faults
}

func validateTrafficPolicies(s *corev1.Service, spec *field.Path) field.ErrorList {
	var faults field.ErrorList
	external, at := s.Spec.ExternalTrafficPolicy, spec.Child("externalTrafficPolicy")
	if isExternal(s) {
		faults = oneOf(external, []corev1.ServiceExternalTrafficPolicy{
			corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal,
		}, at)
	} else if external != "" {
		faults = field.ErrorList{field.Invalid(at, external, "may only be set for externally-accessible services")}
	}
	if port := s.Spec.HealthCheckNodePort; port != 0 {
		at := spec.Child("healthCheckNodePort")
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer || external != corev1.ServiceExternalTrafficPolicyLocal {
			faults = append(faults, field.Invalid(at, port,
				"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
		} else {
			faults = append(faults, validatePortNumber(port, at)...)
		}
	}
	if internal := s.Spec.InternalTrafficPolicy; internal != nil {
		faults = append(faults, oneOf(*internal, []corev1.ServiceInternalTrafficPolicy{
			corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal,
		}, spec.Child("internalTrafficPolicy"))...)
	}
	if d := s.Spec.TrafficDistribution; d != nil {
		faults = append(faults, oneOf(*d, []string{
			corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameNode,
			corev1.ServiceTrafficDistributionPreferSameZone,
		}, spec.Child("trafficDistribution"))...)
	}
	return faults
}

func validateLoadBalancerStatus(s *corev1.Service, at *field.Path) field.ErrorList {
	ingress := s.Status.LoadBalancer.Ingress
	if len(ingress) > 0 && s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return field.ErrorList{field.Forbidden(at, "may only be used when `spec.type` is LoadBalancer")}
	}
	var faults field.ErrorList
	for i := range ingress {
		in, at := &ingress[i], at.Index(i)
		if in.IP != "" {
			faults = append(faults, validateAddress(in.IP, at.Child("ip"))...)
		}
		if in.IPMode == nil {
			continue
		}
		mode := at.Child("ipMode")
		if in.IP == "" {
			faults = append(faults, field.Forbidden(mode, "may not be specified when `ip` is not set"))
		}
		faults = append(faults, oneOf(*in.IPMode,
			[]corev1.LoadBalancerIPMode{corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP}, mode)...)
	}
	return faults
}
