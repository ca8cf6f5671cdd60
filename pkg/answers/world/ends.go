package world

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/intent"
)

// Ends finds the ends that a text names, in the form that package name reads; the namespace is the default for names without one.
// There is at least one.
func (w *World) Ends(text, namespace string) ([]End, error) {
	n, err := name.Parse(text, namespace, w.known())
	if err != nil {
		return nil, err
	}
	member := w.of(&n)
	found, err := member.ends(&n)
	if err != nil && n.Cluster != "" {
		err = fmt.Errorf("in cluster %s: %w", n.Cluster, member.OrUnread(err))
	}
	return found, err
}

func (w *World) ends(n *name.Name) ([]End, error) {
	if n.Kind == name.Service || n.Kind == name.Pod { // of which the namespace may be left out
		if err := w.complete(n); err != nil {
			return nil, w.orUnknownService(n, err)
		}
	}
	switch {
	case n.Kind == name.Address:
		return []End{w.address(n.Addr)}, nil
	case n.Kind == name.Node:
		e, err := w.node(n.Name)
		return []End{e}, err
	case n.Kind == name.Namespace:
		return w.podsLike(&name.Name{Text: n.Text, Namespace: n.Name, Name: "*"})
	case n.Kind == name.Service:
		return w.serviceEnds(n)
	case n.Kind.Workload():
		return w.workload(n)
	case n.Kind == name.Pod || n.Kind == "":
		return w.podEnds(n)
	case n.Kind == name.NetworkPolicy || n.Kind.Object() != "":
		return nil, fmt.Errorf("%s: a policy cannot be an end of a connection: expected a pod, a Service, a node or an address", n.Text)
	default:
		return nil, fmt.Errorf("%s: a %s cannot be an end of a connection: expected a pod, a Service, a node or an address", n.Text, n.Kind)
	}
}

// podEnds finds a pod, those that a pattern selects or, if the text has no word for a kind, those of a workload.
func (w *World) podEnds(n *name.Name) ([]End, error) {
	switch {
	case n.Namespace == "":
		return nil, fmt.Errorf("%q: expected %s%s", n.Text, name.Forms, name.DidYouMean(n.Text, w.Names(name.Pod)))
	case n.Several():
		return w.podsLike(n)
	}
	e, err := w.pod(n.Namespace, n.Name)
	if n.Kind == "" && errors.Is(err, name.ErrNotFound) {
		if found, problem := w.workloadNamed(n.Namespace, n.Name); problem != nil || found != nil {
			return found, problem
		}
	}
	return []End{e}, err
}

// serviceEnds is a Service, or the pods that the name of a headless one resolves to.
func (w *World) serviceEnds(n *name.Name) ([]End, error) {
	if s := w.services[n.Full()]; s != nil && s.Spec.ClusterIP == corev1.ClusterIPNone {
		if pods := w.servicePods(s.Namespace, s.Spec.Selector); len(pods) > 0 {
			return pods, nil
		}
	}
	e, err := w.service(n)
	return []End{e}, w.OrUnknown(err)
}

// service finds the frontends of a Service, or of one of its ports, at its cluster IPs.
func (w *World) service(n *name.Name) (End, error) {
	full, port := n.Full(), n.Port
	object := w.services[full]
	balancers := w.balancers[full]
	if object == nil && len(balancers) == 0 {
		return End{}, name.NotFound(name.Service, full, w.Names(name.Service))
	}
	e := End{Name: w.Prefix() + "svc/" + full, Kind: name.Service, In: w}
	if port != "" {
		e.Name += ":" + port
	}
	for _, lb := range balancers {
		s := &Service{Name: w.Prefix() + "svc/" + full, Object: object, Balancer: lb}
		for i := range lb.Frontends {
			f := &lb.Frontends[i]
			if f.Kind == intent.ClusterAddress && PortIs(f, port, object) {
				s.Frontends = append(s.Frontends, f)
			}
		}
		if len(s.Frontends) > 0 {
			e.Service = s
			break
		}
	}
	switch {
	case len(balancers) == 0:
		return End{}, fmt.Errorf("service %s has no address of its own: use its pods", full)
	case e.Service == nil:
		return End{}, NoPort(n, balancers[0], object)
	}
	for _, f := range e.Service.Frontends {
		e.Addrs = append(e.Addrs, f.Addr)
	}
	return e, nil
}
