package translator

import (
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

// translateNode lets a node reach the pods that run on it, whatever policies say: traffic from the pod's local node is
// always admitted (NetworkPolicySpec.ingress), kubelet's probes for one. Where nothing is isolated there is nothing to
// admit.
func (t *Translator) translateNode(node *corev1.Node) (*translation, []Problem) {
	if t.isolating == 0 {
		return nil, nil
	}
	faults := problems{of: t.origin(KindNode, node)}
	addrs := nodeAddrs(node, &faults)
	if len(addrs) == 0 {
		return nil, faults.list
	}
	pods := setSpec{terms: []labelcache.Term{
		labelcache.NewTerm(labelcache.Selection{Cluster: t.cluster, Node: node.Name}),
	}}
	subject, peer := t.sets.hold(pods), t.sets.hold(setSpec{prefixes: addrs})
	return &translation{
		holds: []intent.SetID{subject, peer},
		policies: []*intent.Policy{{
			ID: policyID(faults.of, intent.Ingress), Origin: faults.of, Direction: intent.Ingress, Subject: subject,
			Rules: []intent.Rule{{
				Path: "status.addresses", Action: intent.Allow,
				Peer: intent.Peer{Kind: intent.PeerSet, Set: peer}, Ports: intent.Ports{Any: true},
			}},
		}},
	}, faults.list
}

// nodeAddrs are the node's own addresses as prefixes of one address each. Host names are not resolved.
func nodeAddrs(node *corev1.Node, faults *problems) []netip.Prefix {
	var out []netip.Prefix
	take := func(field, s string) {
		a, err := netip.ParseAddr(s)
		if err != nil {
			faults.add(field, "%q is not an IP address", s)
			return
		}
		a = a.Unmap().WithZone("")
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
			take("status.addresses", a.Address)
		}
	}
	for s := range strings.SplitSeq(node.Annotations[NodeAddressesAnnotation], ",") {
		if s = strings.TrimSpace(s); s != "" {
			take("metadata.annotations["+NodeAddressesAnnotation+"]", s)
		}
	}
	slices.SortFunc(out, comparePrefixes)
	return slices.Compact(out)
}
