package oracle

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// serve evaluates a flow to a frontend: which backends the Service may choose, and what the policies decide on each.
// Policies see the backend and its port, never the frontend.
func (z *Frozen) serve(f Flow, fe *frontend) Verdict {
	v := Verdict{Service: fe.service.Namespace + "/" + fe.service.Name}
	if fe.guarded && !inSourceRanges(fe.service, f.Src.Addr) {
		v.Why = []string{"service: not in loadBalancerSourceRanges"}
		return v
	}
	all := z.endpoints(fe.service, fe.port, f.Dst.Addr.Is4())
	if len(all) == 0 {
		v.Refused = true
		v.Why = []string{"service: has no endpoints"}
		return v
	}
	chosen := z.choose(f, fe, all)
	if len(chosen) == 0 {
		v.Why = []string{"service: has no endpoints on the node"}
		return v
	}
	v.Allowed, v.EgressAllowed, v.IngressAllowed = true, true, true
	for i := range chosen {
		e := &chosen[i]
		there := f
		there.Dst, there.Port = End{Addr: e.addr}, e.port
		verdict := z.judge(there)
		b := Backend{
			Addr: e.addr, Port: e.port, Pod: z.podAt(e.addr), Allowed: verdict.Allowed,
			EgressAllowed: verdict.EgressAllowed, IngressAllowed: verdict.IngressAllowed,
		}
		v.Backends = append(v.Backends, b)
		v.Allowed = v.Allowed && b.Allowed
		v.EgressAllowed = v.EgressAllowed && b.EgressAllowed
		v.IngressAllowed = v.IngressAllowed && b.IngressAllowed
		for _, why := range verdict.Why {
			v.Why = append(v.Why, fmt.Sprintf("%s: %s", netip.AddrPortFrom(e.addr, uint16(e.port)), why)) //nolint:gosec // G115: a port.
		}
	}
	return v
}

// choose returns the endpoints for a flow. A traffic policy Local selects those of one node; otherwise the hints for the
// client's location apply. Draining endpoints are used only if there are no others.
func (z *Frozen) choose(f Flow, fe *frontend, all []endpoint) []endpoint {
	at := z.entry(f)
	if z.local(f, fe) {
		if fe.kind == nodePort {
			at = fe.node
		}
		var here []endpoint
		for _, e := range all {
			if at != "" && e.node == at {
				here = append(here, e)
			}
		}
		return readyElseDraining(here)
	}
	if hinted := z.hinted(all, at); len(hinted) > 0 {
		return hinted
	}
	return readyElseDraining(all)
}

// local reports whether the traffic policy for f is Local. The internal one applies to cluster IPs, the external one to
// all other frontends. Traffic from within the cluster, also of a node itself, to an external or load balancer IP always gets the
// semantics of Cluster; a node port depends on the node, for any sender.
func (z *Frozen) local(f Flow, fe *frontend) bool {
	spec := &fe.service.Spec
	external := spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	switch fe.kind {
	case clusterIP:
		return spec.InternalTrafficPolicy != nil && *spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal
	case nodePort:
		return external
	case externalIP, loadBalancerIP:
		return external && !z.inside(f.Src) && !f.OwnNode
	default:
		return external
	}
}

// inside reports whether e is a pod on the pod network.
func (z *Frozen) inside(e End) bool { return len(z.pods(e)) > 0 }

// entry is the node where a flow enters the network; "" if unknown.
func (z *Frozen) entry(f Flow) string {
	if f.Node != "" {
		return f.Node
	}
	for _, p := range z.pods(f.Src) {
		return p.Spec.NodeName
	}
	return ""
}

// hinted returns the ready endpoints whose hints apply at a node: those for the node if all have such hints and one is
// for it, otherwise the same with its zone. If hints are missing from one endpoint, or match none here, they are ignored.
func (z *Frozen) hinted(all []endpoint, node string) []endpoint {
	if node == "" {
		return nil
	}
	if list := hintedFor(all, node, func(e *endpoint) []string { return e.forNodes }); len(list) > 0 {
		return list
	}
	return hintedFor(all, z.zones[node], func(e *endpoint) []string { return e.forZones })
}

// hintedFor lists the ready endpoints whose hints contain name, or none unless every ready endpoint has hints.
func hintedFor(all []endpoint, name string, hints func(*endpoint) []string) []endpoint {
	var list []endpoint
	for i := range all {
		e := &all[i]
		if !e.ready {
			continue
		}
		if len(hints(e)) == 0 {
			return nil
		}
		if slices.Contains(hints(e), name) {
			list = append(list, *e)
		}
	}
	return list
}

func readyElseDraining(from []endpoint) []endpoint {
	var ready []endpoint
	for _, e := range from {
		if e.ready {
			ready = append(ready, e)
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return from
}

// inSourceRanges reports whether a Service admits a at its load balancer IPs: without ranges it admits all.
func inSourceRanges(s *corev1.Service, a netip.Addr) bool {
	if len(s.Spec.LoadBalancerSourceRanges) == 0 {
		return true
	}
	for _, text := range s.Spec.LoadBalancerSourceRanges {
		if p, ok := parsePrefix(text); ok && p.Contains(a) {
			return true
		}
	}
	return false
}

// podAt returns the pod with address a, the first by name if there are several.
func (z *Frozen) podAt(a netip.Addr) string {
	var names []string
	for _, p := range z.byAddr[a] {
		names = append(names, p.Namespace+"/"+p.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return slices.MinFunc(names, cmp.Compare[string])
}
