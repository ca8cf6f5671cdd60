package watch

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/object"
)

// This file is all that knows of core/v1 Endpoints. Each is delivered as EndpointSlices, one for each of its subsets and
// address families, named endpoints/NAME/SUBSET-FAMILY: no object of a cluster has a slash in its name.

// classicEndpoints is what servers had before EndpointSlices, and still have.
type classicEndpoints = corev1.Endpoints //nolint:staticcheck // deprecated, and all there is before Kubernetes 1.21

// kindEndpoints is read and never delivered.
const kindEndpoints Kind = "Endpoints"

// managedBy marks the slices made of Endpoints, in the label that names a slice's maker.
const managedBy = "endpoints.netloom.io"

func endpointsResource() resource {
	return resource{
		kind: kindEndpoints, version: corev1.SchemeGroupVersion, plural: "endpoints", namespaced: true,
		empty:    func() apiObject { return &classicEndpoints{} },
		complete: typed(completeEndpoints), validate: judged(validateEndpoints), trim: typed(trimEndpoints),
		listWatch: func(c clients) *cache.ListWatch {
			return access(c.CoreV1().Endpoints(metav1.NamespaceAll))
		},
	}
}

// completeEndpoints fills in protocols.
func completeEndpoints(e *classicEndpoints) {
	for i := range e.Subsets {
		for j := range e.Subsets[i].Ports {
			if p := &e.Subsets[i].Ports[j]; p.Protocol == "" {
				p.Protocol = corev1.ProtocolTCP
			}
		}
	}
}

func validateEndpoints(e *classicEndpoints) field.ErrorList {
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

func trimEndpoints(e *classicEndpoints) {
	*e = classicEndpoints{ObjectMeta: trimMeta(&e.ObjectMeta), Subsets: e.Subsets}
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

// slicesOf says in slices what e says, in the order of the subsets. An address that is not ready is neither ready nor
// serving; whether that keeps it from being used is for the Service to say. What is no address is left out.
func slicesOf(e *classicEndpoints) []*discoveryv1.EndpointSlice {
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

func sliceRef(s *discoveryv1.EndpointSlice) object.Ref {
	return object.Ref{Kind: KindEndpointSlice, Namespace: s.Namespace, Name: s.Name}
}

// withSlices are the objects in force as they are delivered: Endpoints as slices, unless other slices are about the same
// service. What was delivered before and did not change keeps its identity.
func withSlices(before, force map[object.Ref]claim) map[object.Ref]claim {
	var classic []claim
	sliced := map[object.Ref]bool{}
	for _, c := range force {
		switch o := c.object.(type) {
		case *classicEndpoints:
			classic = append(classic, c)
		case *discoveryv1.EndpointSlice:
			sliced[object.Ref{Kind: kindEndpoints, Namespace: o.Namespace, Name: o.Labels[discoveryv1.LabelServiceName]}] = true
		}
	}
	if len(classic) == 0 {
		return force
	}
	given := maps.Clone(force)
	for _, c := range classic {
		ref := object.Ref{Kind: kindEndpoints, Namespace: c.object.GetNamespace(), Name: c.object.GetName()}
		delete(given, ref)
		e, ok := c.object.(*classicEndpoints)
		if !ok || sliced[ref] {
			continue
		}
		for _, s := range slicesOf(e) {
			c.object = s
			if was, ok := before[sliceRef(s)]; ok && same(was.object, s) {
				c.object = was.object
			}
			given[sliceRef(s)] = c
		}
	}
	return given
}

// adapter keeps the slices made of the Endpoints of a Kubernetes API.
type adapter struct {
	mu     sync.RWMutex
	slices map[object.Ref]*discoveryv1.EndpointSlice
	made   map[string][]object.Ref // of each Endpoints, by its key in the informer's store
}

func newAdapter() *adapter {
	return &adapter{slices: map[object.Ref]*discoveryv1.EndpointSlice{}, made: map[string][]object.Ref{}}
}

// get is the slice of that name.
func (a *adapter) get(ref object.Ref) (*discoveryv1.EndpointSlice, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	s, ok := a.slices[ref]
	return s, ok
}

// put replaces the slices of the Endpoints called key and returns those that appeared, changed or went.
func (a *adapter) put(key string, now []*discoveryv1.EndpointSlice) []object.Ref {
	a.mu.Lock()
	defer a.mu.Unlock()
	var dirty, made []object.Ref
	stays := map[object.Ref]bool{}
	for _, s := range now {
		ref := sliceRef(s)
		stays[ref] = true
		made = append(made, ref)
		if was, ok := a.slices[ref]; !ok || !same(was, s) {
			a.slices[ref] = s
			dirty = append(dirty, ref)
		}
	}
	for _, ref := range a.made[key] {
		if !stays[ref] {
			delete(a.slices, ref)
			dirty = append(dirty, ref)
		}
	}
	if a.made[key] = made; len(made) == 0 {
		delete(a.made, key)
	}
	return dirty
}

// handler keeps the slices in sync with an informer of Endpoints and marks those that change. Slices that go although
// their Endpoints are there count as deleted.
func (a *adapter) handler(mark, markDeleted func(...object.Ref)) cache.ResourceEventHandler {
	put := func(o any) {
		if e, ok := o.(*classicEndpoints); ok {
			markDeleted(a.put(e.Namespace+"/"+e.Name, slicesOf(e))...)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, after any) { put(after) },
		DeleteFunc: func(o any) {
			key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o)
			if err != nil {
				return
			}
			went := markDeleted
			if _, missing := o.(cache.DeletedFinalStateUnknown); missing {
				went = mark
			}
			went(a.put(key, nil)...)
		},
	}
}
