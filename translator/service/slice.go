package service

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/object/address"
	"github.com/netloom/netloom/translator/field"
)

// endpointSlice is the backends in an EndpointSlice of a Service or a ServiceImport.
type endpointSlice struct {
	name      string
	services  []object.Ref    // a Service, a ServiceImport, or one of each
	family    intent.Families // of the endpoints; 0 if they have no addresses
	ports     []slicePort
	endpoints []sliceEndpoint // by address
}

// sliceEndpoint is a backend without its port.
type sliceEndpoint struct {
	intent.Backend
	unready bool // not used, unless its Service ignores readiness
	order   int  // its place in the slice
}

func (e sliceEndpoint) equal(o sliceEndpoint) bool {
	return e.unready == o.unready && e.order == o.order && e.Equal(&o.Backend)
}

// slicePort is a port that every endpoint of a slice has.
type slicePort struct {
	name     string
	protocol intent.Protocol
	number   uint16
}

// servicesOf lists what a slice has backends of, according to its labels.
func servicesOf(o *discoveryv1.EndpointSlice) []object.Ref {
	var out []object.Ref
	if name := o.Labels[discoveryv1.LabelServiceName]; name != "" {
		out = append(out, object.Ref{Kind: object.KindService, Namespace: o.Namespace, Name: name})
	}
	if name := o.Labels[mcsv1alpha1.LabelServiceName]; name != "" {
		out = append(out, object.Ref{Kind: object.KindServiceImport, Namespace: o.Namespace, Name: name})
	}
	return out
}

// PutSlice adds or replaces an EndpointSlice. One that belongs to no Service, or to a headless one, is ignored.
func (t *Table) PutSlice(o *discoveryv1.EndpointSlice) {
	key := object.Ref{Kind: object.KindEndpointSlice, Namespace: o.Namespace, Name: o.Name}
	services := servicesOf(o)
	if _, headless := o.Labels[corev1.IsHeadlessService]; headless || len(services) == 0 {
		t.RemoveSlice(key)
		return
	}
	faults := field.Faults{Of: t.source.Origin(object.KindEndpointSlice, o)}
	s := &endpointSlice{name: o.Name, services: services}
	switch o.AddressType {
	case discoveryv1.AddressTypeIPv4:
		s.family = intent.IPv4
	case discoveryv1.AddressTypeIPv6:
		s.family = intent.IPv6
	case discoveryv1.AddressTypeFQDN: // names are not supported here
	default:
		faults.Add("addressType", "%q: expected IPv4, IPv6 or FQDN; the slice is ignored", o.AddressType)
	}
	if s.family != 0 {
		s.readPorts(o, &faults)
		s.readEndpoints(o, t.source.Cluster, &faults)
		if from := o.Labels[mcsv1alpha1.LabelSourceCluster]; from != "" && from != t.source.Cluster {
			s.locate(from)
		}
	}
	t.problems.Set(key, faults.List)
	t.file(key, s)
}

// RemoveSlice removes an EndpointSlice.
func (t *Table) RemoveSlice(key object.Ref) {
	t.problems.Set(key, nil)
	t.file(key, nil)
}

func (s *endpointSlice) readPorts(o *discoveryv1.EndpointSlice, faults *field.Faults) {
	for i := range o.Ports {
		p := &o.Ports[i]
		proto, ok := field.Protocol(p.Protocol)
		if !ok {
			faults.Add(fmt.Sprintf("ports[%d].protocol", i), "%q: expected TCP, UDP or SCTP; the port is ignored", *p.Protocol)
			continue
		}
		if p.Port == nil {
			continue // every port: only in slices that are not for Services
		}
		number, ok := faults.PortNumber(fmt.Sprintf("ports[%d].port", i), *p.Port)
		if !ok {
			continue
		}
		s.ports = append(s.ports, slicePort{valueOf(p.Name), proto, number})
	}
}

func (s *endpointSlice) readEndpoints(o *discoveryv1.EndpointSlice, cluster string, faults *field.Faults) {
	s.endpoints = make([]sliceEndpoint, 0, len(o.Endpoints))
	for i := range o.Endpoints {
		e := &o.Endpoints[i]
		if len(e.Addresses) == 0 {
			faults.Add(fmt.Sprintf("endpoints[%d].addresses", i), "expected an address; the endpoint is ignored")
			continue
		}
		a, err := address.Parse(e.Addresses[0]) // further ones have no meaning (discovery/v1 Endpoint.addresses)
		if err != nil || intent.FamilyOf(a) != s.family {
			faults.Add(fmt.Sprintf("endpoints[%d].addresses[0]", i), "%q: expected an %s address; the endpoint is ignored",
				e.Addresses[0], o.AddressType)
			continue
		}
		b := sliceEndpoint{order: i, Backend: intent.Backend{
			Addr: a, Key: keyOf(e.TargetRef, cluster, o.Namespace), Node: valueOf(e.NodeName),
		}}
		if c := &e.Conditions; !met(c.Ready, true) {
			b.Draining = met(c.Serving, true) && met(c.Terminating, false)
			b.unready = !b.Draining
		}
		if e.Hints != nil {
			b.ForNodes = namesOf(e.Hints.ForNodes, func(n discoveryv1.ForNode) string { return n.Name })
			b.ForZones = namesOf(e.Hints.ForZones, func(z discoveryv1.ForZone) string { return z.Name })
		}
		s.endpoints = append(s.endpoints, b)
	}
	slices.SortStableFunc(s.endpoints, func(a, b sliceEndpoint) int { return a.Addr.Compare(b.Addr) })
}

// locate records that the endpoints are of another cluster: their pods, nodes and zones are not those of the same name here.
func (s *endpointSlice) locate(cluster string) {
	for i := range s.endpoints {
		e := &s.endpoints[i]
		e.Node, e.ForNodes, e.ForZones = "", nil, nil
		if e.Key != (object.Key{}) {
			e.Key.Cluster = cluster
		}
	}
}

// keyOf returns the key of the pod that an endpoint refers to.
func keyOf(ref *corev1.ObjectReference, cluster, namespace string) object.Key {
	if ref == nil || ref.Kind != object.KindPod || ref.Name == "" {
		return object.Key{}
	}
	return object.Key{Cluster: cluster, Namespace: cmp.Or(ref.Namespace, namespace), Name: ref.Name}
}

// met returns a condition, or its default if it is not set.
func met(condition *bool, otherwise bool) bool {
	if condition == nil {
		return otherwise
	}
	return *condition
}

func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// namesOf lists names in order, each once.
func namesOf[T any](list []T, name func(T) string) []string {
	var out []string
	for _, v := range list {
		if n := name(v); n != "" {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
