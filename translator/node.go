package translator

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
)

// NodeAddressesAnnotation lists further addresses, separated by commas, from which a node reaches its own pods: that of
// a management port, say.
const NodeAddressesAnnotation = "netloom.io/node-addresses"

// ChassisAnnotation is what the switch of a node calls itself (external_ids:system-id of its Open vSwitch), where that is
// not the node's name. The spellings of ovn-kubernetes and kube-ovn are understood too.
const ChassisAnnotation = "netloom.io/chassis"

const (
	ovnKubernetesChassis = "k8s.ovn.org/node-chassis-id"
	kubeOVNChassis       = "ovn.kubernetes.io/chassis"
)

// nodeTable holds the nodes as services see them.
type nodeTable struct {
	byName map[string]*intent.Node
	sorted []*intent.Node // by name; nil when it has to be made anew
}

// list is every node with its name and addresses, ordered by name.
func (t *nodeTable) list() []*intent.Node {
	if t.sorted == nil {
		t.sorted = slices.SortedFunc(maps.Values(t.byName), func(a, b *intent.Node) int {
			return strings.Compare(a.Name, b.Name)
		})
	}
	return t.sorted
}

// put takes in a node, nil takes it out, and says whether its addresses are others than before.
func (t *nodeTable) put(name string, now *intent.Node) bool {
	var before, after []netip.Addr
	if old := t.byName[name]; old != nil {
		before = old.Addrs
	}
	if now == nil {
		delete(t.byName, name)
	} else {
		t.byName[name] = now
		after = now.Addrs
	}
	if slices.Equal(before, after) {
		return false
	}
	t.sorted = nil
	return true
}

func (t *Translator) putNode(node *corev1.Node) {
	t.putSource(objectKey{KindNode, "", node.Name}, node)
	if t.nodes.put(node.Name, nodeOf(node, &problems{})) { // problems are told when it is translated
		t.services.dirtyOnNodes()
	}
}

func (t *Translator) removeNode(name string) {
	t.removeSource(objectKey{KindNode, "", name})
	if t.nodes.put(name, nil) {
		t.services.dirtyOnNodes()
	}
}

// nodeOf is the node as services see it.
func nodeOf(node *corev1.Node, faults *problems) *intent.Node {
	return &intent.Node{
		Name: node.Name,
		Zone: node.Labels[corev1.LabelTopologyZone],
		SystemID: cmp.Or(node.Annotations[ChassisAnnotation], node.Annotations[ovnKubernetesChassis],
			node.Annotations[kubeOVNChassis]),
		Addrs: statusAddrs(node, faults),
	}
}

// translateNode lets a node reach the pods that run on it, whatever policies say: traffic from the pod's local node is
// always admitted (NetworkPolicySpec.ingress), kubelet's probes for one. Where nothing is isolated there is nothing to
// admit. Where there is an own node, others have no pods that are subjects, and no flow enters at them.
func (t *Translator) translateNode(node *corev1.Node) (*translation, []Problem) {
	faults := problems{of: t.origin(KindNode, node)}
	out := &translation{node: nodeOf(node, &faults), gate: t.gateOf(intent.IsolatedIngress)}
	if !t.isOwn(node.Name) {
		return &translation{}, faults.list
	}
	addrs := nodePrefixes(node, out.node.Addrs, &faults)
	if t.isolating == 0 || len(addrs) == 0 {
		return out, faults.list
	}
	pods := setSpec{terms: []labelcache.Term{
		labelcache.NewTerm(labelcache.Selection{Cluster: t.cluster, Node: node.Name}),
	}}
	subject, peer := t.sets.hold(pods), t.sets.hold(setSpec{prefixes: addrs})
	out.holds = []intent.SetID{subject, peer}
	out.policies = []*intent.Policy{{
		ID: policyID(faults.of, intent.Ingress), Origin: faults.of, Direction: intent.Ingress, Subject: subject,
		Rules: []intent.Rule{{
			Path: "status.addresses", Action: intent.Allow,
			Peer: intent.Peer{Kind: intent.PeerSet, Set: peer}, Ports: intent.Ports{Any: true},
		}},
	}}
	return out, faults.list
}

// statusAddrs are the node's own addresses, in order. Host names are not resolved.
func statusAddrs(node *corev1.Node, faults *problems) []netip.Addr {
	var out []netip.Addr
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
			out = appendAddr(out, "status.addresses", a.Address, faults)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// nodePrefixes are the node's own addresses and those of the annotation, as prefixes of one address each.
func nodePrefixes(node *corev1.Node, own []netip.Addr, faults *problems) []netip.Prefix {
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

func appendAddr(to []netip.Addr, field, text string, faults *problems) []netip.Addr {
	a, err := parseAddr(text)
	if err != nil {
		faults.add(field, "%v", err)
		return to
	}
	return append(to, a)
}
