package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object/address"
	"github.com/netloom/netloom/translator/budget"
)

// parseClusterPeers parses the peers of a rule. It returns false if one of them cannot be understood, which is reported.
func (p *translation) parseClusterPeers(r *clusterRule, action intent.Action) (peerList, bool) {
	list := peerList{denied: action == intent.Deny}
	ok := true
	if len(r.peers) == 0 {
		p.Add(r.path+"."+r.peerField, "expected at least one peer; the rule %s", outcome(action))
		return list, false
	}
	for i := range r.peers {
		path := fmt.Sprintf("%s.%s[%d]", r.path, r.peerField, i)
		if err := p.parseClusterPeer(path, &r.peers[i], r, action, &list); err != nil && p.account.Err() == nil {
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

// parseClusterPeer adds a peer to the list.
func (p *translation) parseClusterPeer(
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
		list.selections = append(list.selections, peersIn(p.source, s))
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
		err = fmt.Errorf("domainNames are only allowed in rules with action %s", acceptWord(p.Of.Kind))
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
func (p *translation) selection(peer *v1alpha2.ClusterNetworkPolicyEgressPeer) (labelcache.Selection, error) {
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
func (p *translation) nodePeer(ls *metav1.LabelSelector) ([]netip.Prefix, error) {
	selector, err := p.selector(ls)
	if err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	p.out.nodes = true
	var out []netip.Prefix
	for _, node := range p.objects.nodes {
		if !selector.Matches(labels.Set(node.Labels)) {
			continue
		}
		for _, a := range peerAddrs(node) {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	slices.SortFunc(out, intent.ComparePrefixes)
	return slices.Compact(out), nil
}

// domainPeer returns the DNS names of a peer. A name without an answer matches nothing, and neither does a wildcard, because DNS cannot
// list the names below a domain. Answers beyond the budget close the policy.
func (p *translation) domainPeer(path string, names []v1alpha2.DomainName) []string {
	var out []string
	for _, text := range names {
		name := strings.ToLower(strings.TrimSuffix(string(text), "."))
		if strings.HasPrefix(name, "*") {
			p.Add(path+".domainNames", "%q: wildcards cannot be looked up; it matches nothing", text)
			continue
		}
		if !slices.Contains(p.out.hosts, name) {
			p.out.hosts = append(p.out.hosts, name)
		}
		if !p.account.Spend(budget.Prefixes, p.hosts.Cost(name)) {
			return nil
		}
		switch addrs, known := p.hosts.Addrs(name); {
		case !known:
			p.Add(path+".domainNames", "%s has not been looked up yet; it matches nothing", name)
		case len(addrs) == 0:
			p.Add(path+".domainNames", "%s does not resolve to an address; it matches nothing", name)
		}
		out = append(out, name)
	}
	return out
}
