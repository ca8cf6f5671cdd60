package policygen

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// slicesOf makes the EndpointSlices of a Service: for each family none, one or several, which may repeat each other.
func (g *generator) slicesOf(s *corev1.Service) []*discoveryv1.EndpointSlice {
	var list []*discoveryv1.EndpointSlice
	add := func(t discoveryv1.AddressType) *discoveryv1.EndpointSlice {
		e := &discoveryv1.EndpointSlice{ObjectMeta: g.meta(s.Namespace, fmt.Sprintf("%s-%d", s.Name, len(list)), map[string]string{
			discoveryv1.LabelServiceName: s.Name, discoveryv1.LabelManagedBy: "policygen",
		}), AddressType: t, Ports: g.slicePorts(s)}
		list = append(list, e)
		return e
	}
	hints := g.chance(25)
	for _, v4 := range []bool{true, false} {
		t := discoveryv1.AddressTypeIPv6
		if v4 {
			t = discoveryv1.AddressTypeIPv4
		}
		if v4 && g.families == IPv6Only || !v4 && g.families == IPv4Only || g.chance(12) {
			continue
		}
		for range 1 + g.rng.IntN(3) {
			e := add(t)
			for range g.rng.IntN(4) {
				e.Endpoints = append(e.Endpoints, g.endpoint(s, v4, hints))
			}
			if n := len(list); n > 1 && list[n-2].AddressType == t && len(list[n-2].Endpoints) > 0 && g.chance(30) {
				g.repeat(e, list[n-2])
			}
			e.Endpoints = distinct(e.Endpoints)
		}
	}
	if g.chance(5) {
		add(discoveryv1.AddressTypeFQDN).Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"example.com"}}}
	}
	if len(list) > 0 && g.chance(4) {
		pick(g, list).Labels[corev1.IsHeadlessService] = ""
	}
	return list
}

// distinct keeps the first endpoint of each address: within a slice they are unique.
func distinct(all []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(e discoveryv1.Endpoint) bool {
		again := seen[e.Addresses[0]]
		seen[e.Addresses[0]] = true
		return again
	})
}

// repeat copies an endpoint of another slice into a slice, perhaps with other conditions.
func (g *generator) repeat(e, from *discoveryv1.EndpointSlice) {
	again := pick(g, from.Endpoints)
	if g.chance(50) {
		again.Conditions = g.conditions()
	}
	e.Endpoints = append(e.Endpoints, again)
	if g.chance(70) {
		e.Ports = from.Ports
	}
}

// slicePorts is the ports of s in a slice. Numbers differ from slice to slice, as they do if pods resolve a name
// differently; a port may be missing.
func (g *generator) slicePorts(s *corev1.Service) []discoveryv1.EndpointPort {
	var ports []discoveryv1.EndpointPort
	for _, p := range s.Spec.Ports {
		if g.chance(8) {
			continue
		}
		number := pick(g, portNumbers())
		e := discoveryv1.EndpointPort{Name: &p.Name, Protocol: &p.Protocol, Port: &number}
		if p.Name == "" && g.chance(30) {
			e.Name = nil
		}
		if p.Protocol == corev1.ProtocolTCP && g.chance(20) {
			e.Protocol = nil
		}
		if g.odd && g.chance(4) {
			e.Port = nil
		}
		ports = append(ports, e)
	}
	if g.chance(10) {
		name, number := "unrelated", pick(g, portNumbers())
		ports = append(ports, discoveryv1.EndpointPort{Name: &name, Port: &number})
	}
	return ports
}

// endpoint is mostly a pod, sometimes an address of a node or outside, on some node or none.
func (g *generator) endpoint(s *corev1.Service, v4, hints bool) discoveryv1.Endpoint {
	var e discoveryv1.Endpoint
	if p := g.podOf(v4); p != nil && g.chance(88) {
		for _, a := range podAddrs(p) {
			if a.Is4() == v4 && len(e.Addresses) == 0 {
				e.Addresses = []string{a.String()}
			}
		}
		if p.Spec.NodeName != "" {
			node := p.Spec.NodeName
			e.NodeName = &node
		}
		e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}
	} else {
		e.Addresses = []string{g.foreignAddr(v4).String()}
		if g.chance(50) {
			node := pick(g, g.c.Nodes).Name
			e.NodeName = &node
		}
	}
	e.Conditions = g.conditions()
	if s.Spec.PublishNotReadyAddresses {
		ready := true
		e.Conditions.Ready = &ready // as the slices' controller sets it
	}
	if hints && g.chance(92) {
		e.Hints = g.hints()
	}
	return e
}

// podOf is a pod with an address of a family, nil by chance or if there is none.
func (g *generator) podOf(v4 bool) *corev1.Pod {
	for range 20 {
		if len(g.c.Pods) == 0 {
			return nil
		}
		p := pick(g, g.c.Pods)
		if slices.ContainsFunc(podAddrs(p), func(a netip.Addr) bool { return a.Is4() == v4 }) {
			return p
		}
	}
	return nil
}

// foreignAddr is an address that no pod of the pod network should have: outside, or a node's.
func (g *generator) foreignAddr(v4 bool) netip.Addr {
	var addrs []netip.Addr
	for _, n := range g.c.Nodes {
		for _, a := range nodeAddrs(n) {
			if a.Is4() == v4 {
				addrs = append(addrs, a)
			}
		}
	}
	if len(addrs) > 0 && g.chance(30) {
		return pick(g, addrs)
	}
	if v4 {
		return netip.AddrFrom4([4]byte{203, 0, 113, byte(251 + g.rng.IntN(4))}) //nolint:gosec // G115: small numbers of a test.
	}
	return netip.MustParseAddr(fmt.Sprintf("2001:db8::f%d", g.rng.IntN(4)))
}

// conditions are mostly those of an endpoint that is ready.
func (g *generator) conditions() discoveryv1.EndpointConditions {
	yes, no := true, false
	switch g.rng.IntN(10) {
	case 0:
		return discoveryv1.EndpointConditions{}
	case 1:
		return discoveryv1.EndpointConditions{Ready: &no, Serving: &no, Terminating: &no}
	case 2:
		return discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes}
	case 3:
		return discoveryv1.EndpointConditions{Ready: &no, Terminating: &yes}
	case 4:
		return discoveryv1.EndpointConditions{Ready: &no, Serving: &no, Terminating: &yes}
	default:
		return discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no}
	}
}

func (g *generator) hints() *discoveryv1.EndpointHints {
	h := &discoveryv1.EndpointHints{}
	for _, z := range zones() {
		if g.chance(60) {
			h.ForZones = append(h.ForZones, discoveryv1.ForZone{Name: z})
		}
	}
	for _, n := range g.c.Nodes {
		if g.chance(50) {
			h.ForNodes = append(h.ForNodes, discoveryv1.ForNode{Name: n.Name})
		}
	}
	return h
}

func zones() []string { return []string{"east", "west"} }
