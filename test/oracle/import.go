package oracle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
)

// allServices lists the Services in the order in which they get what several ask for, and then the ServiceImports as Services at
// addresses that are valid in every cluster of the set.
func (z *Frozen) allServices(c *Cluster) []*corev1.Service {
	all := slices.SortedFunc(slices.Values(c.Services), older)
	var imports []*corev1.Service
	for _, i := range c.Imports {
		s := &corev1.Service{ObjectMeta: i.ObjectMeta}
		s.Spec.SessionAffinity, s.Spec.SessionAffinityConfig = i.Spec.SessionAffinity, i.Spec.SessionAffinityConfig
		s.Spec.InternalTrafficPolicy = i.Spec.InternalTrafficPolicy
		if i.Spec.Type != mcsv1alpha1.Headless {
			s.Spec.ClusterIPs = i.Spec.IPs
		}
		for _, p := range i.Spec.Ports {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: p.Name, Protocol: p.Protocol, Port: p.Port})
		}
		z.imported[s] = true
		imports = append(imports, s)
	}
	slices.SortFunc(imports, older)
	return append(all, imports...)
}

// addImported adds the slices of the ServiceImports, by import.
func (z *Frozen) addImported(c *Cluster, to map[string][]*discoveryv1.EndpointSlice) {
	for _, s := range c.Slices {
		_, headless := s.Labels[corev1.IsHeadlessService]
		if name := s.Labels[mcsv1alpha1.LabelServiceName]; name != "" && !headless {
			key := importKey(s.Namespace, name)
			to[key] = append(to[key], s)
		}
	}
}

// importKey names a ServiceImport in a way that no Service is named.
func importKey(namespace, name string) string { return "import/" + namespace + "/" + name }

// slicesKey names what the slices of s are filed under.
func (z *Frozen) slicesKey(s *corev1.Service) string {
	if z.imported[s] {
		return importKey(s.Namespace, s.Name)
	}
	return s.Namespace + "/" + s.Name
}

// isElsewhere reports whether the endpoints of a slice are in another cluster, where nodes and zones have names of their own.
func (z *Frozen) isElsewhere(s *discoveryv1.EndpointSlice) bool {
	own := ""
	if z.set != nil {
		own = z.set.Own
	}
	from := s.Labels[mcsv1alpha1.LabelSourceCluster]
	return from != "" && from != own
}
