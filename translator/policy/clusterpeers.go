package policy

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object/address"
	"github.com/netloom/netloom/translator/budget"
)

// parsePeers parses the peers of a rule. It returns false if one of them cannot be understood, which is reported.
func (p *clusterPolicy) parsePeers(r *clusterRule, action intent.Action) (peerList, bool) {
	var list peerList
	ok := true
	if len(r.peers) == 0 {
		p.Add(r.path+"."+r.peerField, "expected at least one peer; the rule %s", outcome(action))
		return list, false
	}
	for i := range r.peers {
		path := fmt.Sprintf("%s.%s[%d]", r.path, r.peerField, i)
		if err := p.parsePeer(path, &r.peers[i], r, action, &list); err != nil && p.account.Err() == nil {
			p.Add(path, "%v; the rule %s", err, outcome(action))
			ok = false
		}
		if p.account.Err() != nil {
			return peerList{}, false
		}
	}
	list.prefixes = intent.MergePrefixes(list.prefixes)
	list.all = list.union()
	return list, ok
}

// outcome describes the effect of a rule with the given action that cannot be understood.
func outcome(action intent.Action) string {
	if action == intent.Allow {
		return "matches nothing"
	}
	return "denies everything"
}

// parsePeer adds a peer to the list.
func (p *clusterPolicy) parsePeer(
	path string, peer *v1alpha2.ClusterNetworkPolicyEgressPeer, r *clusterRule, action intent.Action, list *peerList,
) error {
	fields := 0
	for _, set := range []bool{
		peer.Namespaces != nil, peer.Pods != nil, peer.Nodes != nil, len(peer.Networks) > 0, len(peer.DomainNames) > 0,
	} {
		if set {
			fields++
		}
	}
	if fields != 1 {
		return fmt.Errorf("expected exactly one known field, found %d", fields)
	}
	if peer.Namespaces != nil || peer.Pods != nil {
		s, err := p.selection(peer)
		if err != nil {
			return err
		}
		list.selections = append(list.selections, p.peersIn(s))
		list.values += peerValues(peer.Namespaces, peer.Pods)
		return nil
	}
	for i := range r.ports {
		if r.ports[i].DestinationNamedPort != "" {
			return fmt.Errorf("a named port is not allowed together with nodes, networks or domainNames, which have none")
		}
	}
	var prefixes []netip.Prefix
	var err error
	switch {
	case peer.Nodes != nil:
		prefixes, err = p.nodePeer(peer.Nodes)
	case len(peer.Networks) > 0:
		prefixes, err = networksPeer(peer.Networks)
	case action != intent.Allow:
		err = fmt.Errorf("domainNames are only allowed in rules with action %s", p.acceptWord())
	default:
		list.hosts = append(list.hosts, p.domainPeer(path, peer.DomainNames)...)
	}
	if err != nil || !p.account.Spend(budget.Prefixes, len(prefixes)) {
		return err
	}
	list.prefixes = append(list.prefixes, prefixes...)
	return nil
}

// selection parses a peer or subject that selects pods.
func (p *clusterPolicy) selection(peer *v1alpha2.ClusterNetworkPolicyEgressPeer) (labelcache.Selection, error) {
	s := labelcache.Selection{Cluster: p.source.Cluster}
	if !p.account.Spend(budget.Selectors, 1) {
		return s, p.account.Err()
	}
	namespaces := peer.Namespaces
	if peer.Pods != nil {
		pods, err := p.selector(&peer.Pods.PodSelector)
		if err != nil {
			return s, fmt.Errorf("pods.podSelector: %w", err)
		}
		s.Pods, namespaces = pods, &peer.Pods.NamespaceSelector
	}
	selector, err := p.selector(namespaces)
	if err != nil {
		return s, fmt.Errorf("namespace selector: %w", err)
	}
	s.Namespaces = selector
	return s, nil
}

// peerValues counts the values that the selectors of a peer compare with.
func peerValues(namespaces *metav1.LabelSelector, pods *v1alpha2.NamespacedPod) int {
	if pods == nil {
		return valuesIn(namespaces)
	}
	return valuesIn(&pods.NamespaceSelector) + valuesIn(&pods.PodSelector)
}

func networksPeer(networks []v1alpha2.CIDR) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, n := range networks {
		prefix, err := address.ParsePrefix(string(n))
		if err != nil {
			return nil, fmt.Errorf("networks: %w", err)
		}
		out = append(out, prefix)
	}
	return out, nil
}

// nodePeer returns the addresses of the nodes with certain labels. The policy is translated again when they change.
func (p *clusterPolicy) nodePeer(ls *metav1.LabelSelector) ([]netip.Prefix, error) {
	selector, err := p.selector(ls)
	if err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	p.out.nodes = true
	var out []netip.Prefix
	for ref := range p.nodes {
		node, ok := p.objects[ref].(*corev1.Node)
		if !ok || !selector.Matches(labels.Set(node.Labels)) {
			continue
		}
		for _, a := range peerAddrs(node) {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	slices.SortFunc(out, intent.ComparePrefixes)
	return slices.Compact(out), nil
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

// nodeChanged causes policies with nodes as peers to be translated again if the part of a node that they depend on has changed.
func (t *Table) nodeChanged(old, now *corev1.Node) {
	if old != nil && now != nil && labels.Equals(old.Labels, now.Labels) &&
		slices.Equal(peerAddrs(old), peerAddrs(now)) {
		return
	}
	for ref := range t.withNodes {
		t.markDirty(ref)
	}
}
