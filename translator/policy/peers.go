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
)

// parsePeers returns the peers of a rule, which may have been parsed before the policy was put.
func (p *translation) parsePeers(r rule) peerList {
	if len(r.peers) == 0 {
		return peerList{anyone: true}
	}
	if known, ok := p.early.lists[&r.peers[0]]; ok {
		if !p.account.SpendAll(known.spent) {
			return peerList{}
		}
		return known.list
	}
	return p.parseList(r)
}

// parseList parses the peers of a rule that has some. An element that cannot be understood is reported and matches nothing.
func (p *translation) parseList(r rule) peerList {
	var list peerList
	var blocks [][]netip.Prefix
	for i := range r.peers {
		path := fmt.Sprintf("%s.%s[%d]", r.path, r.field, i)
		peer := &r.peers[i]
		switch {
		case peer.IPBlock != nil && (peer.PodSelector != nil || peer.NamespaceSelector != nil):
			p.Add(path, "ipBlock is not allowed together with a podSelector or namespaceSelector; the element matches nothing")
		case peer.IPBlock != nil:
			blocks = append(blocks, p.parseBlock(path+".ipBlock", peer.IPBlock))
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
	if len(blocks) == 1 {
		list.prefixes = blocks[0] // large ones are alone in most rules, and what remains of one block is canonical
	} else {
		list.prefixes = intent.MergePrefixes(slices.Concat(blocks...))
	}
	list.all = list.union()
	return list
}

// parseSelectors parses a podSelector, a namespaceSelector or both, which must then both match. Without a
// namespaceSelector, only the policy's own namespace is selected.
func (p *translation) parseSelectors(path string, peer *networkingv1.NetworkPolicyPeer) (labelcache.Selection, bool) {
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
		s.Namespace = p.Of.Namespace
	}
	return peersIn(p.source, s), ok
}

// parseBlock returns the prefixes that remain of an ipBlock's cidr without its excepts.
func (p *translation) parseBlock(path string, b *networkingv1.IPBlock) []netip.Prefix {
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
	return rest
}
