package source

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

// lastApplied is a copy of the whole object that kubectl apply leaves on it.
const lastApplied = corev1.LastAppliedConfigAnnotation

// ownPrefix is the prefix of netloom's own annotations. Of pods hardly any others are kept: network plugins write several to each.
const ownPrefix = "netloom.io/"

// annotationPrefixes lists the prefixes of the annotations that are kept, apart from those of pods, policies and namespaces:
// netloom's own, and those of the network plugins built on OVN.
func annotationPrefixes() []string {
	return []string{ownPrefix, "k8s.ovn.org/", "ovn.kubernetes.io/"}
}

func trimPolicy(p *networkingv1.NetworkPolicy) {
	p.TypeMeta = metav1.TypeMeta{}
	p.ManagedFields = nil
	p.Annotations = withoutLastApplied(p.Annotations)
	trimBeyondBudget(&p.Spec)
}

func trimNamespace(n *corev1.Namespace) {
	*n = corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:              n.Name,
		UID:               n.UID,
		ResourceVersion:   n.ResourceVersion,
		CreationTimestamp: n.CreationTimestamp, // in a budget, the oldest objects come first
		Labels:            n.Labels,
		Annotations:       withoutLastApplied(n.Annotations),
	}}
}

func trimPod(p *corev1.Pod) {
	was := *p
	*p = corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            p.Name,
			Namespace:       p.Namespace,
			UID:             p.UID,
			ResourceVersion: p.ResourceVersion, // informers distinguish a change from a resync by it
			// In a budget, the oldest objects come first.
			CreationTimestamp: p.CreationTimestamp,
			// A terminating pod gives way to the next owner of its address.
			DeletionTimestamp: p.DeletionTimestamp,
			Labels:            p.Labels,
			Annotations:       podAnnotations(p),
		},
		Spec: corev1.PodSpec{
			InitContainers: trimContainers(p.Spec.InitContainers, isSidecar),
			Containers:     trimContainers(p.Spec.Containers, func(*corev1.Container) bool { return true }),
			NodeName:       p.Spec.NodeName,
			HostNetwork:    p.Spec.HostNetwork,
		},
		Status: corev1.PodStatus{Phase: p.Status.Phase, PodIP: p.Status.PodIP, PodIPs: p.Status.PodIPs},
	}
	if _, ok := p.Labels[v1alpha1.LabelPurpose]; ok {
		keepCNF(p, &was)
	}
}

func trimNode(n *corev1.Node) {
	*n = corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:            n.Name,
			UID:             n.UID,
			ResourceVersion: n.ResourceVersion,
			Labels:          n.Labels,
			Annotations:     networkAnnotations(n.Annotations),
		},
		Spec:   corev1.NodeSpec{PodCIDR: n.Spec.PodCIDR, PodCIDRs: n.Spec.PodCIDRs},
		Status: corev1.NodeStatus{Addresses: n.Status.Addresses},
	}
}

// isSidecar reports whether an init container keeps running next to the others, so that its ports count.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func trimContainers(all []corev1.Container, wanted func(*corev1.Container) bool) []corev1.Container {
	var kept []corev1.Container
	for i := range all {
		if c := &all[i]; wanted(c) {
			kept = append(kept, corev1.Container{Name: c.Name, Ports: c.Ports, RestartPolicy: c.RestartPolicy})
		}
	}
	return kept
}

// openPorts is the annotation of ovn-kubernetes that opens ports of a pod to the default network.
const openPorts = "k8s.ovn.org/open-default-ports"

// podAnnotations are those of a pod that are kept: netloom's own, and what says on which network it is. What kube-ovn wrote to a pod with an
// address is left out, since the address says it, too.
func podAnnotations(p *corev1.Pod) map[string]string {
	kept := maps.Clone(p.Annotations)
	maps.DeleteFunc(kept, func(k, _ string) bool {
		return !strings.HasPrefix(k, ownPrefix) && k != openPorts && (p.Status.PodIP != "" || !isAssignment(k))
	})
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// isAssignment reports whether an annotation of kube-ovn chooses the Subnet or the address of a pod.
func isAssignment(annotation string) bool {
	switch annotation {
	case "ovn.kubernetes.io/logical_switch", "ovn.kubernetes.io/ip_pool", "ovn.kubernetes.io/ip_address":
		return true
	}
	return false
}

func networkAnnotations(all map[string]string) map[string]string {
	var kept map[string]string
	for k, v := range all {
		for _, prefix := range annotationPrefixes() {
			if strings.HasPrefix(k, prefix) {
				if kept == nil {
					kept = map[string]string{}
				}
				kept[k] = v
			}
		}
	}
	return kept
}

func withoutLastApplied(all map[string]string) map[string]string {
	if _, ok := all[lastApplied]; !ok {
		return all
	}
	kept := make(map[string]string, len(all)-1)
	for k, v := range all {
		if k != lastApplied {
			kept[k] = v
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// trimMeta keeps the object's name, its labels, and the annotations of the network.
func trimMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Labels: m.Labels, Annotations: networkAnnotations(m.Annotations),
	}
}

// trimService also keeps the creation time: of two services with the same address, the older one counts. A server older than
// Kubernetes 1.20 knows only one cluster IP; it is copied to the list.
func trimService(s *corev1.Service) {
	meta, spec := trimMeta(&s.ObjectMeta), &s.Spec
	meta.CreationTimestamp = s.CreationTimestamp
	CompleteClusterIPs(spec)
	for i := range spec.Ports {
		spec.Ports[i].AppProtocol = nil
	}
	*s = corev1.Service{
		ObjectMeta: meta,
		Spec: corev1.ServiceSpec{
			Type: spec.Type, Ports: spec.Ports, Selector: spec.Selector,
			ClusterIP: spec.ClusterIP, ClusterIPs: spec.ClusterIPs,
			IPFamilies: spec.IPFamilies, IPFamilyPolicy: spec.IPFamilyPolicy,
			ExternalIPs: spec.ExternalIPs, LoadBalancerSourceRanges: spec.LoadBalancerSourceRanges,
			SessionAffinity: spec.SessionAffinity, SessionAffinityConfig: spec.SessionAffinityConfig,
			ExternalTrafficPolicy: spec.ExternalTrafficPolicy, InternalTrafficPolicy: spec.InternalTrafficPolicy,
			HealthCheckNodePort: spec.HealthCheckNodePort, PublishNotReadyAddresses: spec.PublishNotReadyAddresses,
			TrafficDistribution: spec.TrafficDistribution,
		},
		Status: corev1.ServiceStatus{LoadBalancer: s.Status.LoadBalancer},
	}
}

// trimImport also keeps the creation time, for the same reason.
func trimImport(i *mcsv1alpha1.ServiceImport) {
	meta := trimMeta(&i.ObjectMeta)
	meta.CreationTimestamp = i.CreationTimestamp
	*i = mcsv1alpha1.ServiceImport{ObjectMeta: meta, Spec: i.Spec}
	for j := range i.Spec.Ports {
		i.Spec.Ports[j].AppProtocol = nil
	}
}

func trimSlice(s *discoveryv1.EndpointSlice) {
	*s = discoveryv1.EndpointSlice{
		ObjectMeta:  trimMeta(&s.ObjectMeta),
		AddressType: s.AddressType, Endpoints: s.Endpoints, Ports: s.Ports,
	}
	s.Endpoints = slices.Clone(s.Endpoints) // without the room that a decoder leaves
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		s.Endpoints[i] = discoveryv1.Endpoint{
			Addresses: slices.Clone(e.Addresses), Conditions: e.Conditions, TargetRef: trimTarget(e.TargetRef),
			NodeName: e.NodeName, Zone: e.Zone, Hints: e.Hints,
		}
	}
	for i := range s.Ports {
		s.Ports[i].AppProtocol = nil
	}
}

// trimTarget keeps the identity of the object behind an endpoint.
func trimTarget(ref *corev1.ObjectReference) *corev1.ObjectReference {
	if ref == nil {
		return nil
	}
	return &corev1.ObjectReference{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// CompleteClusterIPs fills in whichever of the two fields for a service's cluster IPs is missing. An empty address counts
// as missing.
func CompleteClusterIPs(spec *corev1.ServiceSpec) {
	if len(spec.ClusterIPs) == 1 && spec.ClusterIPs[0] == "" {
		spec.ClusterIPs = nil
	}
	switch {
	case spec.ClusterIP != "" && len(spec.ClusterIPs) == 0:
		spec.ClusterIPs = []string{spec.ClusterIP}
	case spec.ClusterIP == "" && len(spec.ClusterIPs) > 0:
		spec.ClusterIP = spec.ClusterIPs[0]
	}
}

// trimWritten drops the managed fields, and the copy of the object that kubectl leaves.
func trimWritten(o Object) {
	o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	o.SetManagedFields(nil)
	o.SetSelfLink("")
	o.SetGenerateName("")
	o.SetOwnerReferences(nil)
	o.SetAnnotations(withoutLastApplied(o.GetAnnotations()))
}
