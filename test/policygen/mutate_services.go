package policygen

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serviceMoves lists the possible changes if there are Services.
func (g *generator) serviceMoves() []func() (Change, bool) {
	return []func() (Change, bool){
		g.flapEndpoint, g.flapEndpoint, g.addEndpoint, g.addEndpoint, g.dropEndpoint, g.dropEndpoint, g.rewriteSlice,
		g.addSlice, g.deleteSlice, g.addService, g.deleteService, g.editService, g.editService, g.recreateService,
		g.moveZone, g.addNode, g.deleteNode,
	}
}

// changeSlice changes a copy of a random slice for which suits returns true.
func (g *generator) changeSlice(
	what string, suits func(*discoveryv1.EndpointSlice) bool, edit func(*discoveryv1.EndpointSlice),
) (Change, bool) {
	if len(g.c.Slices) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.Slices))
	if g.c.Slices[i].AddressType == discoveryv1.AddressTypeFQDN || !suits(g.c.Slices[i]) {
		return Change{}, false
	}
	e := g.c.Slices[i].DeepCopy()
	edit(e)
	g.c.Slices[i] = e
	return Change{Changed, "EndpointSlice", e, what}, true
}

func hasEndpoints(e *discoveryv1.EndpointSlice) bool { return len(e.Endpoints) > 0 }

// flapEndpoint changes the conditions of an endpoint.
func (g *generator) flapEndpoint() (Change, bool) {
	return g.changeSlice("flap", hasEndpoints, func(e *discoveryv1.EndpointSlice) {
		e.Endpoints[g.rng.IntN(len(e.Endpoints))].Conditions = g.conditions()
	})
}

func (g *generator) addEndpoint() (Change, bool) {
	return g.changeSlice("one more", func(*discoveryv1.EndpointSlice) bool { return true }, func(e *discoveryv1.EndpointSlice) {
		s := g.serviceOf(e)
		hints := hasEndpoints(e) && e.Endpoints[0].Hints != nil
		e.Endpoints = distinct(append(e.Endpoints, g.endpoint(s, e.AddressType == discoveryv1.AddressTypeIPv4, hints)))
	})
}

func (g *generator) dropEndpoint() (Change, bool) {
	return g.changeSlice("one less", hasEndpoints, func(e *discoveryv1.EndpointSlice) {
		i := g.rng.IntN(len(e.Endpoints))
		e.Endpoints = slices.Delete(e.Endpoints, i, i+1)
	})
}

// rewriteSlice gives a slice other ports, or other hints.
func (g *generator) rewriteSlice() (Change, bool) {
	return g.changeSlice("rewrite", hasEndpoints, func(e *discoveryv1.EndpointSlice) {
		if g.chance(50) {
			e.Ports = g.slicePorts(g.serviceOf(e))
			return
		}
		hinted := g.chance(70)
		for i := range e.Endpoints {
			e.Endpoints[i].Hints = nil
			if hinted {
				e.Endpoints[i].Hints = g.hints()
			}
		}
	})
}

// serviceOf is the Service of a slice, an empty one if there is none.
func (g *generator) serviceOf(e *discoveryv1.EndpointSlice) *corev1.Service {
	for _, s := range g.c.Services {
		if s.Namespace == e.Namespace && s.Name == e.Labels[discoveryv1.LabelServiceName] {
			return s
		}
	}
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Labels[discoveryv1.LabelServiceName]}}
	s.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}
	return s
}

// addSlice adds a slice to a Service.
func (g *generator) addSlice() (Change, bool) {
	if len(g.c.Services) == 0 {
		return Change{}, false
	}
	s := pick(g, g.c.Services)
	made := g.slicesOf(s)
	if len(made) == 0 {
		return Change{}, false
	}
	e := pick(g, made)
	i := 0
	taken := func(o *discoveryv1.EndpointSlice) bool { return o.Namespace == e.Namespace && o.Name == e.Name }
	for e.Name = fmt.Sprintf("%s-%d", s.Name, i); slices.ContainsFunc(g.c.Slices, taken); i++ {
		e.Name = fmt.Sprintf("%s-%d", s.Name, i)
	}
	g.c.Slices = append(g.c.Slices, e)
	return Change{Added, "EndpointSlice", e, "new"}, true
}

func (g *generator) deleteSlice() (Change, bool) {
	if len(g.c.Slices) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.Slices))
	e := g.c.Slices[i]
	g.c.Slices = slices.Delete(slices.Clone(g.c.Slices), i, i+1)
	return Change{Deleted, "EndpointSlice", e, "gone"}, true
}

// addService recreates a deleted Service, with whatever slices it left, or adds a new one.
func (g *generator) addService() (Change, bool) {
	ns, ok := g.anyNamespace()
	if !ok || len(g.c.Services) > 12 {
		return Change{}, false
	}
	i := 0
	taken := func(s *corev1.Service) bool { return s.Namespace == ns && s.Name == fmt.Sprintf("svc-%d", i) }
	for slices.ContainsFunc(g.c.Services, taken) {
		i++
	}
	s := g.service(ns, fmt.Sprintf("svc-%d", i))
	g.c.Services = append(g.c.Services, s)
	return Change{Added, "Service", s, "new"}, true
}

// deleteService deletes a Service. Its slices stay for now, as watches may report it.
func (g *generator) deleteService() (Change, bool) {
	return takeAway(g, &g.c.Services, "Service")
}

// changeService changes a copy of a random Service.
func (g *generator) changeService(what string, edit func(*corev1.Service)) (Change, bool) {
	if len(g.c.Services) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.Services))
	s := g.c.Services[i].DeepCopy()
	edit(s)
	g.c.Services[i] = s
	return Change{Changed, "Service", s, what}, true
}

// editService changes one part of a Service, or all but its age.
func (g *generator) editService() (Change, bool) {
	return g.changeService("edit", func(s *corev1.Service) {
		if len(s.Spec.ClusterIPs) == 0 || s.Spec.ClusterIP == corev1.ClusterIPNone || g.chance(20) {
			g.expose(s)
			return
		}
		switch g.rng.IntN(4) {
		case 0:
			s.Annotations = g.networkAnnotation()
		case 1:
			s.Spec.Ports = nil
			g.servicePorts(s)
		case 2:
			s.Spec.ExternalIPs, s.Spec.LoadBalancerSourceRanges = nil, nil
			s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = "", 0
			s.Status.LoadBalancer.Ingress = nil
			g.outside(s)
		default:
			policy := corev1.ServiceInternalTrafficPolicyLocal
			if s.Spec.InternalTrafficPolicy != nil && *s.Spec.InternalTrafficPolicy == policy {
				policy = corev1.ServiceInternalTrafficPolicyCluster
			}
			s.Spec.InternalTrafficPolicy = &policy
		}
	})
}

// recreateService makes a Service the youngest, or the oldest.
func (g *generator) recreateService() (Change, bool) {
	return g.changeService("recreate", func(s *corev1.Service) {
		s.UID = g.meta("", "", nil).UID
		s.CreationTimestamp = metav1.NewTime(time.Unix(1_700_000_000+int64(g.rng.IntN(4)), 0).UTC())
	})
}

func (g *generator) moveZone() (Change, bool) {
	if len(g.c.Nodes) == 0 {
		return Change{}, false
	}
	i := g.rng.IntN(len(g.c.Nodes))
	n := g.c.Nodes[i].DeepCopy()
	g.zone(n)
	g.c.Nodes[i] = n
	return Change{Changed, "Node", n, "zone"}, true
}

// addNode recreates a deleted node, or adds a new one.
func (g *generator) addNode() (Change, bool) {
	if len(g.c.Nodes) > 4 {
		return Change{}, false
	}
	i := 0
	taken := func(n *corev1.Node) bool { return n.Name == fmt.Sprintf("node-%d", i) }
	for slices.ContainsFunc(g.c.Nodes, taken) {
		i++
	}
	n := g.node(i)
	g.zone(n)
	g.c.Nodes = append(g.c.Nodes, n)
	return Change{Added, "Node", n, "new"}, true
}

// deleteNode deletes a node. Its pods stay for now.
func (g *generator) deleteNode() (Change, bool) {
	return takeAway(g, &g.c.Nodes, "Node")
}
