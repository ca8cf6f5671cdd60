package network

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Names of ovn-kubernetes.
const (
	// requiredLabel is the label without which a namespace has no primary network of its own.
	requiredLabel = "k8s.ovn.org/primary-user-defined-network"
	// openPorts is the annotation of a pod that opens ports to the default network.
	openPorts = "k8s.ovn.org/open-default-ports"

	kindConnect   = "ClusterNetworkConnect"
	kindAdvertise = "RouteAdvertisements"
)

// The pods of the Service that every network may use for DNS (kube-system/kube-dns is a default of --udn-allowed-default-services).
const (
	dnsNamespace = "kube-system"
	dnsLabel     = "k8s-app"
	dnsService   = "kube-dns"
)

// userNetworks evaluates the primary networks of ovn-kubernetes, as docs/features/user-defined-networks/user-defined-networks.md and
// docs/okeps/okep-5193-user-defined-networks.md of its repository document them:
//   - Workloads of one network are not reachable from another one ("Workflow Description"), neither from the default network: the ACLs
//     DenyPrimaryUDN drop what is not the kubelet's at the pod's port there ("KubeletHealthChecks for UDN pods").
//   - Only namespaces with the required label have one, and only one ("User facing API Changes", OKEP "Namespace label").
//   - "Pods that are connected to user-defined networks are still able to access KAPI and DNS services that reside on the cluster default
//     network" (OKEP "Services"): they pass the host on their way, so what policies see of them is left open.
//
// Two networks may be connected by a ClusterNetworkConnect, or by routes that RouteAdvertisements announce.
func (e *evaluation) userNetworks() {
	found := map[string][]*world.NetworkObject{} // by namespace
	for _, o := range e.objectsOf(object.KindUserDefinedNetwork) {
		if o.Spec.Primary() {
			found[o.Namespace] = append(found[o.Namespace], o)
		}
	}
	for _, o := range e.objectsOf(object.KindClusterUserDefinedNetwork) {
		if !o.Spec.Network.Primary() {
			continue
		}
		for _, namespace := range e.matching(&o.Spec.NamespaceSelector) {
			found[namespace] = append(found[namespace], o)
		}
	}
	of := map[string]*network{}
	for _, namespace := range e.labelled(found) {
		if o := e.primary(namespace, found[namespace]); o != nil {
			if of[o.String()] == nil {
				of[o.String()] = &network{object: o, dns: true}
			}
			n := of[o.String()]
			for _, pod := range e.pods {
				if pod.Key.Namespace == namespace {
					n.members = append(n.members, pod)
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(of)) {
		if n := of[id]; len(n.members) > 0 {
			e.networks = append(e.networks, n)
			e.leaveOpen(n)
		}
	}
}

// matching lists the namespaces that a selector selects.
func (e *evaluation) matching(s *metav1.LabelSelector) []string {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return slices.Sorted(maps.Keys(e.namespaces)) // it may be any
	}
	var out []string
	for name, n := range e.namespaces {
		set := maps.Clone(n.Labels)
		if set == nil {
			set = map[string]string{}
		}
		set["kubernetes.io/metadata.name"] = name
		if selector.Matches(labels.Set(set)) {
			out = append(out, name)
		}
	}
	return out
}

// labelled lists the namespaces that have the required label or a network, sorted. If there are no such networks at all, none is read.
func (e *evaluation) labelled(found map[string][]*world.NetworkObject) []string {
	names := map[string]bool{}
	for name := range found {
		names[name] = true
	}
	for name := range e.namespaces {
		if len(found) > 0 && e.hasLabel(name) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (e *evaluation) hasLabel(namespace string) bool {
	n := e.namespaces[namespace]
	if n == nil {
		return false
	}
	_, has := n.Labels[requiredLabel]
	return has
}

// primary is the network of the pods of a namespace; nil if it is left open.
func (e *evaluation) primary(namespace string, of []*world.NetworkObject) *world.NetworkObject {
	about := world.Open{Namespace: namespace}
	switch {
	case len(of) == 0:
		e.leave(about, text("Namespace/"+namespace), "it has the label %s, and no primary network is known for it", requiredLabel)
	case len(of) > 1:
		e.leave(about, text("Namespace/"+namespace), "it has several primary networks: %s and %s", of[0], of[1])
	case !e.hasLabel(namespace):
		e.leave(about, of[0], "namespace %s has no label %s, without which it has no primary network", namespace, requiredLabel)
	case !understood(&of[0].Spec):
		e.leave(about, of[0], "its topology or transport is not evaluated")
	default:
		return of[0]
	}
	return nil
}

type text string

func (t text) String() string { return string(t) }

// understood reports whether a network has a topology that may be primary, and the usual transport.
func understood(s *world.NetworkSpec) bool {
	n := &s.UserNetwork
	if s.Network.Topology != "" {
		n = &s.Network
	}
	return (n.Topology == "Layer2" && n.Layer2 != nil && n.Layer3 == nil || n.Topology == "Layer3" && n.Layer3 != nil && n.Layer2 == nil) &&
		(n.Transport == "" || n.Transport == "Geneve")
}

// leaveOpen leaves open what the documentation of ovn-kubernetes does not decide about a network.
func (e *evaluation) leaveOpen(n *network) {
	of := world.Open{Network: n.id()}
	with := func(o world.Other) world.Open {
		of.With = o
		return of
	}
	e.leave(with(world.OtherNode), n.object, "only the kubelet of a node reaches its pods for sure, and whether these reach nodes is not documented")
	e.leave(with(world.OtherVIP), n.object, "Services of other networks can be reached at their node ports and external addresses")
	if e.clusters {
		e.leave(with(world.OtherCluster), n.object, "pods of other clusters are on networks that are not known")
	}
	e.leaveDNS(n)
	for _, kind := range []string{kindConnect, kindAdvertise} {
		for _, o := range e.objectsOf(kind) {
			e.leave(with(world.OtherPod|world.OtherService|world.OtherOutside), o, "it may connect %s with others", n.id())
		}
	}
	for _, pod := range n.members {
		if o := e.objects[pod.Key]; o != nil && o.Annotations[openPorts] != "" {
			full := pod.Key.Namespace + "/" + pod.Key.Name
			e.leave(world.Open{Pod: full}, text("Pod/"+full), "its annotation %s opens ports to the default network", openPorts)
		}
	}
	if rule := e.dependsOnSubnets(n); rule != "" {
		e.leave(with(world.OtherSame), n.object, "its pods have other addresses on it than in their status, and %s names blocks", rule)
	}
}

// leaveDNS leaves open what policies say of connections to the DNS and the API server of the cluster: these are reached through their Services
// only, and it is not documented what addresses policies see.
func (e *evaluation) leaveDNS(n *network) {
	about := world.Open{Network: n.id(), With: world.OtherDNS | world.OtherHosts}
	senders := map[object.Key]bool{}
	for _, m := range n.members {
		senders[m.Key] = true
	}
	if e.selected(intent.Egress, senders) || e.selected(intent.Ingress, e.dns) {
		e.leave(about, n.object, "what policies see of connections to the DNS and the API server of the cluster is not documented")
		return
	}
	about.With = world.OtherDNS
	about.Direct = true
	e.leave(about, n.object, "the pods of the DNS are reached by their Service only")
}

// dependsOnSubnets names a rule that selects some addresses of a network by a block and not others, or that means others than those in the
// status of its pods; "" if there is none.
func (e *evaluation) dependsOnSubnets(n *network) string {
	subnets, known := prefixesOf(n.object)
	members := map[object.Key]bool{}
	for _, m := range n.members {
		members[m.Key] = true
	}
	s := e.state.Snapshot
	for p := range s.Policies() {
		if p.Tier == intent.TierSystem || !hasAny(s.Set(p.Subject), members) {
			continue
		}
		for i := range p.Rules {
			set := s.Set(p.Rules[i].Peer.Set)
			if set != nil && len(set.Prefixes) > 0 && (!known || depends(set.Prefixes, subnets, n.members)) {
				return fmt.Sprintf("%s %s", p.Origin, p.Rules[i].Path)
			}
		}
	}
	return ""
}

func hasAny(set *intent.Set, members map[object.Key]bool) bool {
	for k := range members {
		if set.HasKey(k) {
			return true
		}
	}
	return false
}

// prefixesOf are the blocks of a network; known is false if one cannot be read or there is none.
func prefixesOf(o *world.NetworkObject) (out []netip.Prefix, known bool) {
	n := &o.Spec.UserNetwork
	if o.Kind == object.KindClusterUserDefinedNetwork {
		n = &o.Spec.Network
	}
	for _, s := range n.Subnets() {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, false
		}
		out = append(out, p.Masked())
	}
	return out, len(out) > 0
}

// depends reports whether blocks have a part of a subnet, or not the same of it as of the addresses of pods.
func depends(blocks, subnets []netip.Prefix, pods []*labelcache.Endpoint) bool {
	for _, subnet := range subnets {
		all := false
		for _, b := range blocks {
			switch {
			case !b.Overlaps(subnet):
			case b.Bits() > subnet.Bits():
				return true
			default:
				all = true
			}
		}
		for _, pod := range pods {
			for _, a := range pod.AllAddrs() {
				in := slices.ContainsFunc(blocks, func(b netip.Prefix) bool { return b.Contains(a) })
				if a.Is4() == subnet.Addr().Is4() && in != all {
					return true
				}
			}
		}
	}
	return false
}
