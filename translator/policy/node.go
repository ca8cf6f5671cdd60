package policy

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/object/address"
	"github.com/netloom/netloom/translator/field"
	"github.com/netloom/netloom/translator/sets"
)

// NodeAddressesAnnotation lists further addresses, separated by commas, from which a node reaches its own pods, such as
// that of a management port.
const NodeAddressesAnnotation = "netloom.io/node-addresses"

// ChassisAnnotation is the name that the switch of a node uses for itself (external_ids:system-id of its Open vSwitch),
// if that is not the node's name. The annotations of ovn-kubernetes and kube-ovn are supported too.
const ChassisAnnotation = "netloom.io/chassis"

const (
	ovnKubernetesChassis = "k8s.ovn.org/node-chassis-id"
	kubeOVNChassis       = "ovn.kubernetes.io/chassis"
)

// NodeOf returns the node as services and backends see it.
func NodeOf(node *corev1.Node, faults *field.Faults) *intent.Node {
	return &intent.Node{
		Name: node.Name,
		Zone: node.Labels[corev1.LabelTopologyZone],
		SystemID: cmp.Or(node.Annotations[ChassisAnnotation], node.Annotations[ovnKubernetesChassis],
			node.Annotations[kubeOVNChassis]),
		Addrs: statusAddrs(node, faults),
	}
}

// translateNode allows a node to reach the pods that run on it, whatever policies say: traffic from the pod's local
// node is always admitted (NetworkPolicySpec.ingress), such as probes of the kubelet. If no policy denies ingress, there is nothing to
// allow. If there is an own node, other nodes have no pods that are subjects, and no flow enters at them.
func (t *translator) translateNode(node *corev1.Node, guarded guards) (*result, []object.Problem) {
	faults := field.Faults{Of: t.source.Origin(object.KindNode, node)}
	if !t.sets.IsOwn(node.Name) {
		NodeOf(node, &faults)
		return &result{}, faults.List
	}
	out := &result{node: NodeOf(node, &faults)}
	if guarded.denying == 0 {
		t.sets.Gate(&out.refs, intent.IsolatedIngress)
	}
	addrs := nodePrefixes(node, out.node.Addrs, &faults)
	if guarded == (guards{}) || len(addrs) == 0 {
		return out, faults.List
	}
	pods := sets.Spec{Terms: []labelcache.Term{
		labelcache.NewTerm(labelcache.Selection{Cluster: t.source.Cluster, Node: node.Name}),
	}}
	subject := t.sets.Retain(&out.refs, pods)
	peer := t.sets.Retain(&out.refs, sets.Spec{Prefixes: addrs})
	out.policies = []*intent.Policy{{
		ID: intent.NewPolicyID(faults.Of, intent.Ingress), Origin: faults.Of, Direction: intent.Ingress,
		Tier: intent.TierSystem, Subject: subject,
		Rules: []intent.Rule{{
			Path: "status.addresses", Action: intent.Allow,
			Peer: intent.Peer{Kind: intent.PeerSet, Set: peer}, Ports: intent.Ports{Any: true},
		}},
	}}
	return out, faults.List
}

// statusAddrs returns the node's own addresses, in order. Host names are not resolved.
func statusAddrs(node *corev1.Node, faults *field.Faults) []netip.Addr {
	var out []netip.Addr
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
			out = appendAddr(out, "status.addresses", a.Address, faults)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// nodePrefixes returns the node's own addresses and those of the annotation, as prefixes of one address each.
func nodePrefixes(node *corev1.Node, own []netip.Addr, faults *field.Faults) []netip.Prefix {
	addrs := slices.Clone(own)
	for s := range strings.SplitSeq(node.Annotations[NodeAddressesAnnotation], ",") {
		if s = strings.TrimSpace(s); s != "" {
			addrs = appendAddr(addrs, "metadata.annotations["+NodeAddressesAnnotation+"]", s, faults)
		}
	}
	var out []netip.Prefix
	for _, a := range addrs {
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	slices.SortFunc(out, intent.ComparePrefixes)
	return slices.Compact(out)
}

// peerAddrs returns the addresses of a node as a peer, in order: all that its status lists, of any type. Names are not
// resolved.
func peerAddrs(node *corev1.Node) []netip.Addr {
	var out []netip.Addr
	for _, na := range node.Status.Addresses {
		if a, err := address.Parse(na.Address); err == nil { // problems are those of the node
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

func appendAddr(to []netip.Addr, path, text string, faults *field.Faults) []netip.Addr {
	a, err := address.Parse(text)
	if err != nil {
		faults.Add(path, "%v", err)
		return to
	}
	return append(to, a)
}
