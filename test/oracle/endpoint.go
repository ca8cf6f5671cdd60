package oracle

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// endpoint is an endpoint for a port of a Service.
type endpoint struct {
	addr     netip.Addr
	port     int32
	node     string // "" if unknown
	ready    bool
	draining bool // not ready, but terminating and still serving
	forNodes []string
	forZones []string
}

// slicesByService collects the slices of each Service: those in its namespace with its name in their label. If there are
// none, the Service's Endpoints are read as slices.
func slicesByService(c *Cluster) map[string][]*discoveryv1.EndpointSlice {
	joined := map[string][]*discoveryv1.EndpointSlice{}
	byName := func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) }
	for _, s := range slices.SortedFunc(slices.Values(c.Slices), byName) {
		if _, headless := s.Labels[corev1.IsHeadlessService]; headless {
			continue
		}
		key := s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
		joined[key] = append(joined[key], s)
	}
	for _, e := range c.Endpoints {
		key := e.Namespace + "/" + e.Name
		if _, headless := e.Labels[corev1.IsHeadlessService]; len(joined[key]) == 0 && !headless {
			joined[key] = slicesOf(e)
		}
	}
	return joined
}

// slicesOf reads Endpoints as slices, two for each subset.
func slicesOf(e *corev1.Endpoints) []*discoveryv1.EndpointSlice { //nolint:staticcheck // SA1019: clusters still have them.
	var list []*discoveryv1.EndpointSlice
	for i := range e.Subsets {
		subset := &e.Subsets[i]
		var ports []discoveryv1.EndpointPort
		for j := range subset.Ports {
			p := &subset.Ports[j]
			ports = append(ports, discoveryv1.EndpointPort{Name: &p.Name, Protocol: &p.Protocol, Port: &p.Port})
		}
		for _, t := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
			s := &discoveryv1.EndpointSlice{AddressType: t, Ports: ports}
			add := func(addrs []corev1.EndpointAddress, ready bool) {
				for j := range addrs {
					s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
						Addresses: []string{addrs[j].IP}, NodeName: addrs[j].NodeName,
						Conditions: discoveryv1.EndpointConditions{Ready: &ready},
					})
				}
			}
			add(subset.Addresses, true)
			add(subset.NotReadyAddresses, false)
			list = append(list, s)
		}
	}
	return list
}

// endpoints lists those of one port of a service in one family, in order, each address and port once: of duplicates the
// most useful one is used, of equal ones that of the first slice by name. Those that are neither ready nor draining are
// left out, unless the Service publishes addresses that are not ready.
func (z *Frozen) endpoints(s *corev1.Service, p *corev1.ServicePort, v4 bool) []endpoint {
	family := discoveryv1.AddressTypeIPv6
	if v4 {
		family = discoveryv1.AddressTypeIPv4
	}
	var all []endpoint
	for _, slice := range z.slices[z.slicesKey(s)] {
		if slice.AddressType != family {
			continue // of the other family, or names, which are ignored
		}
		for i := range slice.Ports {
			number, ok := portOf(&slice.Ports[i], p)
			if !ok {
				continue
			}
			for j := range slice.Endpoints {
				e, ok := endpointOf(&slice.Endpoints[j], number)
				if z.isElsewhere(slice) {
					e.node, e.forNodes, e.forZones = "", nil, nil
				}
				if s.Spec.PublishNotReadyAddresses {
					e.ready, e.draining = true, false
				}
				if ok && e.addr.Is4() == v4 && (e.ready || e.draining) {
					all = append(all, e)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b endpoint) int {
		return cmp.Or(a.addr.Compare(b.addr), cmp.Compare(a.port, b.port), cmp.Compare(a.rank(), b.rank()))
	})
	return slices.CompactFunc(all, func(a, b endpoint) bool { return a.addr == b.addr && a.port == b.port })
}

// rank orders the endpoints of one address and port, the most useful first.
func (e *endpoint) rank() int {
	if e.ready {
		return 0
	}
	return 1
}

// portOf is the number of a Service's port p in a slice. The names must match; a slice without a number has no port for a
// Service.
func portOf(e *discoveryv1.EndpointPort, p *corev1.ServicePort) (int32, bool) {
	name, protocol := "", corev1.ProtocolTCP
	if e.Name != nil {
		name = *e.Name
	}
	if e.Protocol != nil {
		protocol = protocolOf(*e.Protocol)
	}
	if name != p.Name || protocol != protocolOf(p.Protocol) || e.Port == nil || *e.Port == 0 {
		return 0, false
	}
	return *e.Port, true
}

// endpointOf reads an endpoint. Only its first address is used. If ready or serving is unset, it counts as true; if
// terminating is unset, it counts as false.
func endpointOf(e *discoveryv1.Endpoint, port int32) (endpoint, bool) {
	if len(e.Addresses) == 0 {
		return endpoint{}, false
	}
	a, ok := parseAddr(e.Addresses[0])
	if !ok {
		return endpoint{}, false
	}
	is := func(condition *bool, otherwise bool) bool {
		if condition == nil {
			return otherwise
		}
		return *condition
	}
	made := endpoint{addr: a, port: port, ready: is(e.Conditions.Ready, true)}
	made.draining = !made.ready && is(e.Conditions.Serving, true) && is(e.Conditions.Terminating, false)
	if e.NodeName != nil {
		made.node = *e.NodeName
	}
	if e.Hints != nil {
		for _, n := range e.Hints.ForNodes {
			made.forNodes = append(made.forNodes, n.Name)
		}
		for _, z := range e.Hints.ForZones {
			made.forZones = append(made.forZones, z.Name)
		}
	}
	return made, true
}
