package source

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
)

// Endpoints is what servers had before EndpointSlices, and still have. Each is delivered as EndpointSlices, one for each of
// its subsets and address families, named endpoints/NAME/SUBSET-FAMILY: no object of a cluster has a slash in its name.
type Endpoints = corev1.Endpoints //nolint:staticcheck // deprecated, and all there is before Kubernetes 1.21

// managedBy marks the slices made of Endpoints, in the label that names a slice's maker.
const managedBy = "endpoints.netloom.io"

func trimEndpoints(e *Endpoints) {
	*e = Endpoints{ObjectMeta: trimMeta(&e.ObjectMeta), Subsets: e.Subsets}
	for i := range e.Subsets {
		s := &e.Subsets[i]
		for _, all := range [][]corev1.EndpointAddress{s.Addresses, s.NotReadyAddresses} {
			for j := range all {
				all[j].Hostname, all[j].TargetRef = "", trimTarget(all[j].TargetRef)
			}
		}
		for j := range s.Ports {
			s.Ports[j].AppProtocol = nil
		}
	}
}

// SlicesOf converts e to slices, in the order of the subsets. An address that is not ready is neither ready nor serving;
// whether it may be used is up to the Service. Invalid addresses are left out.
func SlicesOf(e *Endpoints) []*discoveryv1.EndpointSlice {
	var all []*discoveryv1.EndpointSlice
	for i := range e.Subsets {
		s := &e.Subsets[i]
		for _, family := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
			endpoints := append(endpointsOf(s.Addresses, family, true), endpointsOf(s.NotReadyAddresses, family, false)...)
			if len(endpoints) == 0 {
				continue
			}
			labels := maps.Clone(e.Labels)
			if labels == nil {
				labels = map[string]string{}
			}
			labels[discoveryv1.LabelServiceName], labels[discoveryv1.LabelManagedBy] = e.Name, managedBy
			all = append(all, &discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{
					Name:      fmt.Sprintf("endpoints/%s/%d-%s", e.Name, i, strings.ToLower(string(family))),
					Namespace: e.Namespace, UID: e.UID, Labels: labels, Annotations: e.Annotations,
				},
				AddressType: family, Endpoints: endpoints, Ports: portsOf(s.Ports),
			})
		}
	}
	return all
}

func endpointsOf(all []corev1.EndpointAddress, family discoveryv1.AddressType, ready bool) []discoveryv1.Endpoint {
	var endpoints []discoveryv1.Endpoint
	for i := range all {
		a := &all[i]
		ip, err := netip.ParseAddr(a.IP)
		if err != nil || ip.Is4() != (family == discoveryv1.AddressTypeIPv4) {
			continue
		}
		isReady, isServing, isTerminating := ready, ready, false
		endpoints = append(endpoints, discoveryv1.Endpoint{
			Addresses: []string{a.IP},
			Conditions: discoveryv1.EndpointConditions{
				Ready: &isReady, Serving: &isServing, Terminating: &isTerminating,
			},
			TargetRef: a.TargetRef, NodeName: a.NodeName,
		})
	}
	return endpoints
}

func portsOf(all []corev1.EndpointPort) []discoveryv1.EndpointPort {
	ports := make([]discoveryv1.EndpointPort, len(all))
	for i := range all {
		name, protocol, port := all[i].Name, all[i].Protocol, all[i].Port
		ports[i] = discoveryv1.EndpointPort{Name: &name, Protocol: &protocol, Port: &port}
	}
	return ports
}

// SliceRef returns the reference of a slice.
func SliceRef(s *discoveryv1.EndpointSlice) object.Ref {
	return object.Ref{Kind: object.KindEndpointSlice, Namespace: s.Namespace, Name: s.Name}
}
