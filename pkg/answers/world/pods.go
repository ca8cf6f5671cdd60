package world

import (
	"fmt"
	"net/netip"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/name"
)

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

// ofSet is the name of what stands for a pod of a StatefulSet: the only pods whose names are known before a controller makes them.
func ofSet(short string) string { return string(name.StatefulSet) + "/" + short }

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
	case p == nil && w.pods[namespace+"/"+ofSet(short)] != nil: // it stands for the pod that the controller would give this name
		return w.pod(namespace, ofSet(short))
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
