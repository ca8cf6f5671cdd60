package world

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/object"
)

// End is one end of a connection: a pod, a node, a Service or an address.
type End struct {
	Name    string // as in answers
	Kind    name.Kind
	Key     object.Key // of the endpoint that policies see; zero if they see an address
	Addrs   []netip.Addr
	Node    string // where it runs; "" if unknown or anywhere
	Note    string // what policies see, if that differs from the name
	Ports   []labelcache.NamedPort
	Service *Service
	In      *World // of its cluster; nil for an address that no pod of a single cluster has
	// Workload is the object that the end was named by; nil if it was named by itself.
	Workload *Workload
}

// Cluster is the name of the end's cluster; "" for an address outside.
func (e *End) Cluster() string {
	if e.In == nil {
		return ""
	}
	return e.In.State.Cluster
}

// Asks returns the port that a question means at an end: of a pod, with the number that it assigns to a name.
func (e *End) Asks(asked name.Port) (name.Port, error) {
	switch {
	case e.Service != nil:
		return e.Service.Asks(asked)
	case asked == (name.Port{}):
		return asked, fmt.Errorf("%s: expected a port, such as %s:tcp/80", e.Name, e.Name)
	case asked.Name == "":
		return asked, nil
	}
	var known []string
	for _, named := range e.Ports {
		if named.Protocol == labelcache.Protocol(asked.Protocol) && named.Name == asked.Name {
			return name.Port{Protocol: asked.Protocol, Number: named.Number}, nil
		}
		known = append(known, fmt.Sprintf("%s/%s (%d)", named.Protocol, named.Name, named.Number))
	}
	if len(known) == 0 {
		return name.Port{}, fmt.Errorf("%s has no named ports: use a number instead of %s", e.Name, asked)
	}
	return name.Port{}, fmt.Errorf("%s has no port %s: it has %s", e.Name, asked, name.And(known))
}

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

// podsLike are the pods that a pattern or a selector selects, at least one.
func (w *World) podsLike(n *name.Name) ([]End, error) {
	matches := func(pod string, _ labels.Set) (bool, error) {
		if _, workload, ok := strings.Cut(pod, "/"); ok { // a pod that stands for those of a workload
			pod = workload
		}
		return path.Match(n.Name, pod)
	}
	if strings.ContainsAny(n.Name, "=!") {
		selector, err := labels.Parse(n.Name)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", n.Text, err)
		}
		matches = func(_ string, set labels.Set) (bool, error) { return selector.Matches(set), nil }
	}
	var found []End
	for _, e := range w.endpoints {
		in, err := path.Match(n.Namespace, e.Key.Namespace)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", n.Text, err)
		}
		if !in || !w.IsOwn(e) {
			continue
		}
		ok, err := matches(e.Key.Name, e.Labels)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", n.Text, err)
		}
		if ok && len(e.AllAddrs()) > 0 {
			found = append(found, w.endpoint(e))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%q: no pod with an address matches", n.Text)
	}
	return found, nil
}

// endpoint is a pod that is not on the host network.
func (w *World) endpoint(e *labelcache.Endpoint) End {
	return End{Name: w.NameOf(e.Key), Kind: name.Pod, Key: e.Key, Addrs: e.AllAddrs(), Node: e.Node, Ports: e.Ports, In: w}
}

// pod finds a pod.
func (w *World) pod(namespace, short string) (End, error) {
	full := namespace + "/" + short
	if e, ok := w.State.View.Endpoint(w.Key(namespace, short)); ok {
		if len(e.AllAddrs()) == 0 {
			return End{}, fmt.Errorf("pod %s has no address: its manifest needs status.podIPs, with addresses that no newer pod uses", full)
		}
		return w.endpoint(e), nil
	}
	p := w.pods[full]
	switch {
	case p == nil:
		return End{}, name.NotFound(name.Pod, full, w.Names(name.Pod))
	case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
		return End{}, fmt.Errorf("pod %s has finished (%s) and has no connections", full, p.Status.Phase)
	}
	out := End{Name: w.Prefix() + full, Kind: name.Pod, Node: p.Spec.NodeName, Addrs: PodAddrs(p), In: w}
	if len(out.Addrs) == 0 {
		out.Addrs = w.nodes[p.Spec.NodeName]
	}
	if len(out.Addrs) == 0 {
		return End{}, fmt.Errorf("pod %s is on the host network of a node whose addresses are unknown", full)
	}
	out.Note = "on the host network: for policies it is node " + p.Spec.NodeName
	return out, nil
}

// PodAddrs are the addresses in the status of a pod.
func PodAddrs(p *corev1.Pod) []netip.Addr {
	ips := p.Status.PodIPs
	if len(ips) == 0 {
		ips = []corev1.PodIP{{IP: p.Status.PodIP}}
	}
	var addrs []netip.Addr
	for _, ip := range ips {
		if a, err := netip.ParseAddr(ip.IP); err == nil {
			addrs = append(addrs, a.Unmap().WithZone(""))
		}
	}
	return addrs
}

// node finds a node.
func (w *World) node(short string) (End, error) {
	addrs, ok := w.nodes[short]
	if !ok {
		return End{}, name.NotFound(name.Node, short, w.Names(name.Node))
	}
	if len(addrs) == 0 {
		return End{}, fmt.Errorf("node %s has no address: its manifest needs status.addresses", short)
	}
	return End{Name: w.Prefix() + "node/" + short, Kind: name.Node, Addrs: addrs, Node: short, In: w}, nil
}

// address is an address, with its owner.
func (w *World) address(a netip.Addr) End {
	out := End{Name: w.State.AddrText(a), Kind: name.Address, Addrs: []netip.Addr{a}, Node: w.nodeOf[a], In: w.homeOf(a)}
	pods := w.byAddr[a]
	switch {
	case len(pods) == 1:
		e := pods[0]
		out.Key, out.Node, out.Ports = e.Key, e.Node, e.Ports
		out.Note = "the address of pod " + w.NameOf(e.Key)
	case len(pods) > 1:
		names := make([]string, len(pods))
		for i, e := range pods {
			names[i] = w.NameOf(e.Key)
		}
		out.Note = "the address of pods " + name.And(names) + ": the policies of all of them apply"
	case out.Node != "":
		out.Note = "an address of node " + out.Node
	}
	return out
}
