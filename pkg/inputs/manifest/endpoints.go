package manifest

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// completeEndpoints fills in protocols.
func completeEndpoints(e *source.Endpoints) {
	for i := range e.Subsets {
		for j := range e.Subsets[i].Ports {
			if p := &e.Subsets[i].Ports[j]; p.Protocol == "" {
				p.Protocol = corev1.ProtocolTCP
			}
		}
	}
}

func validateEndpoints(e *source.Endpoints) field.ErrorList {
	faults := validateMeta(&e.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	for i := range e.Subsets {
		s, at := &e.Subsets[i], field.NewPath("subsets").Index(i)
		if len(s.Addresses) == 0 && len(s.NotReadyAddresses) == 0 {
			faults = append(faults, field.Required(at, "must specify `addresses` or `notReadyAddresses`"))
		}
		faults = append(faults, validateEndpointAddresses(s.Addresses, at.Child("addresses"))...)
		faults = append(faults, validateEndpointAddresses(s.NotReadyAddresses, at.Child("notReadyAddresses"))...)
		names := map[string]bool{}
		for j := range s.Ports {
			p, at := &s.Ports[j], at.Child("ports").Index(j)
			faults = append(faults, validatePortLabel(p.Name, len(s.Ports) > 1, names, at.Child("name"))...)
			faults = append(faults, validatePortNumber(p.Port, at.Child("port"))...)
			faults = append(faults, validateProtocol(p.Protocol, at.Child("protocol"))...)
		}
	}
	return faults
}

func validateEndpointAddresses(all []corev1.EndpointAddress, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	for i := range all {
		a, at := &all[i], at.Index(i)
		faults = append(faults, validateUnicast(a.IP, at.Child("ip"))...)
		faults = append(faults, validateNodeName(a.NodeName, at.Child("nodeName"))...)
	}
	return faults
}

// withSlices returns the objects in force as they are delivered: Endpoints as slices, unless there are other slices for the
// same service. What was delivered before and did not change keeps its identity.
func withSlices(before, force map[object.Ref]settled) map[object.Ref]settled {
	var classic []settled
	sliced := map[object.Ref]bool{}
	for _, c := range force {
		switch o := c.object.(type) {
		case *source.Endpoints:
			classic = append(classic, c)
		case *discoveryv1.EndpointSlice:
			sliced[object.Ref{Kind: object.KindEndpoints, Namespace: o.Namespace, Name: o.Labels[discoveryv1.LabelServiceName]}] = true
		}
	}
	if len(classic) == 0 {
		return force
	}
	given := maps.Clone(force)
	for _, c := range classic {
		ref := object.Ref{Kind: object.KindEndpoints, Namespace: c.object.GetNamespace(), Name: c.object.GetName()}
		delete(given, ref)
		e, ok := c.object.(*source.Endpoints)
		if !ok || sliced[ref] {
			continue
		}
		for _, s := range source.SlicesOf(e) {
			c.object = s
			if was, ok := before[source.SliceRef(s)]; ok && source.Equal(was.object, s) {
				c.object = was.object
			}
			given[source.SliceRef(s)] = c
		}
	}
	return given
}
