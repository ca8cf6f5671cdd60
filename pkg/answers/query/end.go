package query

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
)

// end is one end of a connection: a pod, a node, a service or an address.
type end struct {
	name    string // as in answers
	kind    Kind
	key     object.Key // of the endpoint that policies see; zero if they see an address
	addrs   []netip.Addr
	node    string // where it runs; "" if unknown or anywhere
	note    string // what policies see, if that differs from the name
	ports   []labelcache.NamedPort
	service *service
	in      *Inventory // that found it; nil for an address that no pod of a single cluster has
	// workload is the object that the end was named by; nil if it was named by itself.
	workload *Workload
}

// ends finds the ends that a text in a question refers to. The namespace defaults to the given one; "" means none.
//
// A text is an address; [pod/]NAMESPACE/NAME; node/NAME; svc/NAMESPACE/NAME, with :PORT if the service has several, or its name in DNS;
// a workload such as deploy/NAMESPACE/NAME; ns/NAME for all pods of a namespace. A pod's name may be a pattern such as web-*, or a label
// selector such as app=web; NAMESPACE may be *. These select every matching pod, at least one. The namespace of Services and workloads
// may be left out if only one has the name. The name of a cluster may come first, such as b/shop/db-0 or b/deploy/shop/web.
func (inv *Inventory) ends(text, namespace string) ([]end, error) {
	member, rest, err := inv.within(text)
	if err != nil {
		return nil, err
	}
	if member != nil {
		found, err := member.endsHere(rest, namespace)
		if err != nil {
			err = fmt.Errorf("in cluster %s: %w", member.state.Cluster, member.orUnread(err))
		}
		return found, err
	}
	found, err := inv.endsHere(text, namespace)
	if hint := inv.clustersHint(text); err != nil && hint != "" {
		err = fmt.Errorf("%w%s", err, hint)
	}
	return found, err
}

// endsHere is ends for a text without the name of a cluster.
func (inv *Inventory) endsHere(text, namespace string) ([]end, error) {
	everywhere := namespace == AllNamespaces
	if everywhere {
		namespace = ""
	}
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return []end{inv.address(a.Unmap().WithZone(""))}, nil
	}
	if name, ns, ok := dnsName(text); ok {
		return inv.serviceEnds(ns + "/" + name)
	}
	word, after, _ := strings.Cut(text, "/")
	if !inv.hasNamespace(word) {
		if found, ok, err := inv.workloadEnds(text, namespace); ok {
			return found, err
		}
		if namespaceWord(word) && after != "" && !strings.Contains(after, "/") {
			return inv.podsLike(after + "/*")
		}
		if k, known := kindOf(word); known && k == KindService && namespace == "" && after != "" && !strings.Contains(after, "/") {
			full, err := inv.onlyService(after)
			if err != nil {
				return nil, err
			}
			return inv.serviceEnds(full)
		}
	}
	kind, rest := KindPod, text
	if word, after, ok := strings.Cut(text, "/"); ok {
		if k, known := kindOf(word); known && (strings.Contains(after, "/") || k == KindNode || k.objectKind() != "" || namespace != "" || everywhere) {
			kind, rest = k, after
		}
	}
	if kind == KindNode {
		e, err := inv.node(rest)
		return []end{e}, err
	}
	if kind == KindPolicy || kind.objectKind() != "" {
		return nil, fmt.Errorf("%s: a policy cannot be an end of a connection: expected a pod, a Service, a node or an address", text)
	}
	if !strings.Contains(rest, "/") {
		if everywhere {
			return inv.podsLike(AllNamespaces + "/" + rest)
		}
		if namespace == "" {
			return nil, fmt.Errorf("%q: expected NAMESPACE/NAME, node/NAME, svc/NAMESPACE/NAME or an address%s",
				text, nearOnly(text, inv.Names(KindPod)))
		}
		rest = namespace + "/" + rest
	}
	if kind == KindService {
		return inv.serviceEnds(rest)
	}
	return inv.podsLike(rest)
}

// dnsName reads the name of a Service in DNS, such as db.shop.svc.cluster.local.
func dnsName(text string) (name, namespace string, ok bool) {
	head, _, found := strings.Cut(text+".", ".svc.")
	if !found || strings.Contains(text, "/") {
		return "", "", false
	}
	name, namespace, ok = strings.Cut(head, ".")
	return name, namespace, ok && !strings.Contains(namespace, ".")
}

func namespaceWord(word string) bool {
	return word == "ns" || word == "namespace" || word == "namespaces"
}

// hasNamespace reports whether there is a pod in a namespace, whose name may also be the word for a kind.
func (inv *Inventory) hasNamespace(name string) bool { return inv.namespaces[name] }

// onlyService completes the name of a Service, with an optional port, with the only namespace that has one.
func (inv *Inventory) onlyService(text string) (string, error) {
	name, _, _ := strings.Cut(text, ":")
	namespace, err := inv.onlyNamespace(KindService, name)
	if err != nil {
		return "", inv.orUnknown(err)
	}
	return namespace + "/" + text, nil
}

// onlyNamespace is the only namespace with an object of a kind and name.
func (inv *Inventory) onlyNamespace(kind Kind, name string) (string, error) {
	var found []string
	for _, full := range inv.Names(kind) {
		if namespace, short, _ := strings.Cut(full, "/"); short == name {
			found = append(found, namespace)
		}
	}
	switch len(found) {
	case 0:
		return "", notFound(kind, name, inv.Names(kind))
	case 1:
		return found[0], nil
	default:
		return "", fmt.Errorf("%s %s: expected a namespace: there is one in %s", kind, name, joinAnd(found))
	}
}

// serviceEnds is a Service, or the pods that the name of a headless one resolves to.
func (inv *Inventory) serviceEnds(text string) ([]end, error) {
	name, _, _ := strings.Cut(text, ":")
	if s := inv.services[name]; s != nil && s.Spec.ClusterIP == corev1.ClusterIPNone {
		if pods := inv.servicePods(s.Namespace, s.Spec.Selector); len(pods) > 0 {
			return pods, nil
		}
	}
	e, err := inv.service(text)
	return []end{e}, inv.orUnknown(err)
}

// nearOnly is a hint, if there is a similar name.
func nearOnly(name string, names []string) string {
	if near := closest(name, names); len(near) > 0 {
		return "; did you mean " + joinOr(near) + "?"
	}
	return ""
}

// podsLike are the pods that namespace/name selects: one, or those that match.
func (inv *Inventory) podsLike(text string) ([]end, error) {
	namespace, name, _ := strings.Cut(text, "/")
	if !strings.ContainsAny(text, "*?[=!") {
		e, err := inv.pod(text)
		return []end{e}, err
	}
	matches := func(n string, _ labels.Set) (bool, error) {
		if _, workload, ok := strings.Cut(n, "/"); ok { // a pod that stands for those of a workload
			n = workload
		}
		return path.Match(name, n)
	}
	if strings.ContainsAny(name, "=!") {
		selector, err := labels.Parse(name)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		matches = func(_ string, set labels.Set) (bool, error) { return selector.Matches(set), nil }
	}
	var found []end
	for _, e := range inv.endpoints {
		in, err := path.Match(namespace, e.Key.Namespace)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		if !in || !inv.isOwn(e) {
			continue
		}
		ok, err := matches(e.Key.Name, e.Labels)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		if ok && len(e.AllAddrs()) > 0 {
			found = append(found, inv.endpoint(e))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%q: no pod with an address matches", text)
	}
	return found, nil
}

// endpoint is a pod that is not on the host network.
func (inv *Inventory) endpoint(e *labelcache.Endpoint) end {
	return end{
		name: inv.set.nameOf(e.Key), kind: KindPod, key: e.Key, addrs: e.AllAddrs(), node: e.Node,
		ports: e.Ports, in: inv,
	}
}

// pod finds the pod namespace/name.
func (inv *Inventory) pod(name string) (end, error) {
	ns, short, _ := strings.Cut(name, "/") // the name of a stand-in contains another slash
	if e, ok := inv.state.View.Endpoint(inv.key(ns, short)); ok {
		if len(e.AllAddrs()) == 0 {
			return end{}, fmt.Errorf("pod %s has no address: its manifest needs status.podIPs, with addresses that no newer pod uses", name)
		}
		return inv.endpoint(e), nil
	}
	p := inv.pods[name]
	switch {
	case p == nil:
		return end{}, notFound(KindPod, name, inv.Names(KindPod))
	case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
		return end{}, fmt.Errorf("pod %s has finished (%s) and has no connections", name, p.Status.Phase)
	}
	out := end{name: inv.prefix() + name, kind: KindPod, node: p.Spec.NodeName, addrs: podAddrs(p), in: inv}
	if len(out.addrs) == 0 {
		out.addrs = inv.nodes[p.Spec.NodeName]
	}
	if len(out.addrs) == 0 {
		return end{}, fmt.Errorf("pod %s is on the host network of a node whose addresses are unknown", name)
	}
	out.note = "on the host network: for policies it is node " + p.Spec.NodeName
	return out, nil
}

func podAddrs(p *corev1.Pod) []netip.Addr {
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
func (inv *Inventory) node(name string) (end, error) {
	addrs, ok := inv.nodes[name]
	if !ok {
		return end{}, notFound(KindNode, name, inv.Names(KindNode))
	}
	if len(addrs) == 0 {
		return end{}, fmt.Errorf("node %s has no address: its manifest needs status.addresses", name)
	}
	return end{name: inv.prefix() + "node/" + name, kind: KindNode, addrs: addrs, node: name, in: inv}, nil
}

// address is an address, with its owner.
func (inv *Inventory) address(a netip.Addr) end {
	out := end{name: inv.state.addrText(a), kind: kindAddress, addrs: []netip.Addr{a}, node: inv.nodeOf[a], in: inv.homeOf(a)}
	pods := inv.byAddr[a]
	switch {
	case len(pods) == 1:
		e := pods[0]
		out.key, out.node, out.ports = e.Key, e.Node, e.Ports
		out.note = "the address of pod " + inv.set.nameOf(e.Key)
	case len(pods) > 1:
		names := make([]string, len(pods))
		for i, e := range pods {
			names[i] = inv.set.nameOf(e.Key)
		}
		out.note = "the address of pods " + joinAnd(names) + ": the policies of all of them apply"
	case out.node != "":
		out.note = "an address of node " + out.node
	}
	return out
}

// ErrNotFound is wrapped by errors about a name that does not exist.
var ErrNotFound = errors.New("not found")

func notFound(kind Kind, name string, names []string) error {
	return fmt.Errorf("%s %s: %w%s", kind, name, ErrNotFound, hint(name, names))
}
