package policy

import (
	"fmt"
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object/address"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/sets"
)

// peerList is the content of a rule's from or to: the union of its elements.
type peerList struct {
	anyone     bool // the list is empty: every address, including those outside the cluster
	selections []labelcache.Selection
	values     int            // number of values that the selections compare with
	prefixes   []netip.Prefix // canonical, of all ipBlocks together
	hosts      []string       // DNS names
	all        *sets.Spec     // the list as a set; nil means any
	divided    bool           // the set is retained when the rule is divided, see Table.retainPeers
}

// union returns the list as a set.
func (l *peerList) union() *sets.Spec {
	spec := &sets.Spec{Prefixes: l.prefixes, Hosts: l.hosts}
	for _, s := range l.selections {
		spec.Terms = append(spec.Terms, labelcache.NewTerm(s))
	}
	named := spec.Named()
	return &named
}

// some reports whether the list can match anything.
func (l *peerList) some() bool { return l.all == nil || !l.all.Empty() }

// parsePeers parses the peers of a rule. An element that cannot be understood is reported and matches nothing.
func (p *networkPolicy) parsePeers(r rule) peerList {
	if len(r.peers) == 0 {
		return peerList{anyone: true}
	}
	var list peerList
	for i := range r.peers {
		path := fmt.Sprintf("%s.%s[%d]", r.path, r.field, i)
		peer := &r.peers[i]
		switch {
		case peer.IPBlock != nil && (peer.PodSelector != nil || peer.NamespaceSelector != nil):
			p.Add(path, "ipBlock is not allowed together with a podSelector or namespaceSelector; the element matches nothing")
		case peer.IPBlock != nil:
			list.prefixes = append(list.prefixes, p.parseBlock(path+".ipBlock", peer.IPBlock)...)
		case peer.PodSelector == nil && peer.NamespaceSelector == nil:
			p.Add(path, "expected a podSelector, a namespaceSelector or an ipBlock; the element matches nothing")
		default:
			if s, ok := p.parseSelectors(path, peer); ok {
				list.selections = append(list.selections, s)
				list.values += valuesIn(peer.PodSelector) + valuesIn(peer.NamespaceSelector)
			}
		}
		if p.account.Err() != nil {
			return peerList{}
		}
	}
	if p.account.Err() != nil {
		return peerList{}
	}
	list.prefixes = intent.MergePrefixes(list.prefixes)
	list.all = list.union()
	return list
}

// parseSelectors parses a podSelector, a namespaceSelector or both, which must then both match. Without a
// namespaceSelector, only the policy's own namespace is selected.
func (p *networkPolicy) parseSelectors(path string, peer *networkingv1.NetworkPolicyPeer) (labelcache.Selection, bool) {
	s := labelcache.Selection{Cluster: p.source.Cluster}
	if !p.account.Spend(budget.Selectors, 1) {
		return s, false
	}
	ok := true
	parse := func(field string, ls *metav1.LabelSelector) labels.Selector {
		parsed, err := p.selector(ls)
		switch {
		case p.account.Err() != nil:
			ok = false
		case err != nil:
			p.Add(path+"."+field, "%v; the element matches nothing", err)
			ok = false
		}
		return parsed
	}
	if peer.PodSelector != nil {
		s.Pods = parse("podSelector", peer.PodSelector)
	}
	if peer.NamespaceSelector != nil {
		s.Namespaces = parse("namespaceSelector", peer.NamespaceSelector)
	} else {
		s.Namespace = p.np.Namespace
	}
	return p.peersIn(s), ok
}

// selector parses a label selector. One whose values are beyond the budget is an error.
func (p *translation) selector(ls *metav1.LabelSelector) (labels.Selector, error) {
	if !p.account.Spend(budget.Values, valuesIn(ls)) {
		return nil, p.account.Err()
	}
	return metav1.LabelSelectorAsSelector(ls)
}

// valuesIn counts the values that a selector compares labels with. Nil has none.
func valuesIn(ls *metav1.LabelSelector) int {
	if ls == nil {
		return 0
	}
	n := len(ls.MatchLabels)
	for i := range ls.MatchExpressions {
		n += 1 + len(ls.MatchExpressions[i].Values)
	}
	return n
}

// parseBlock returns the prefixes that remain of an ipBlock's cidr without its excepts.
func (p *networkPolicy) parseBlock(path string, b *networkingv1.IPBlock) []netip.Prefix {
	block, err := address.ParsePrefix(b.CIDR)
	if err != nil {
		p.Add(path+".cidr", "%v; the element matches nothing", err)
		return nil
	}
	var excepts []netip.Prefix
	for i, s := range b.Except {
		e, err := address.ParsePrefix(s)
		if err != nil {
			p.Add(fmt.Sprintf("%s.except[%d]", path, i), "%v; the element matches nothing", err)
			return nil
		}
		excepts = append(excepts, e)
	}
	rest, fits := intent.SubtractAtMost(block, excepts, p.account.Left(budget.Prefixes))
	if !fits {
		p.account.Exceed(budget.Prefixes)
		return nil
	}
	p.account.Spend(budget.Prefixes, len(rest))
	return slices.Clip(rest)
}
