package backendtest

import (
	"fmt"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// commonRules returns some rules of other policies, with paths from the i-th on.
func (w *World) commonRules(d intent.Direction, i int) []intent.Rule {
	var out []intent.Rule
	for _, p := range w.policies {
		for _, r := range p.Rules {
			if p.Tier != intent.TierNetworkPolicy || p.Direction != d || r.Action != intent.Allow || r.Subject != "" || w.common.IntN(4) > 0 {
				continue
			}
			r.Path = fmt.Sprintf("spec.%s[%d]", d, i+len(out))
			if list := w.terms[r.Peer.Set]; r.Peer.Kind == intent.PeerSet && len(list.within) == 0 && w.common.IntN(2) == 0 {
				list.terms = append(slices.Clone(list.terms), term{app: pick(w.common, apps())})
				r.Peer.Set = w.set(list) // one of its peers is in common
			}
			out = append(out, r)
		}
	}
	return out
}

// share gives rules parts wherever several policies with different subjects have a peer in common: each term, and the rest of a list,
// is a peer of its own. The world keeps its policies as they are.
func (w *World) share(policies []intent.Policy) {
	subjects := map[intent.SetID]map[intent.SetID]bool{}
	w.eachPart(policies, func(p *intent.Policy, _ *intent.Rule, shared intent.SetID, _ intent.Peer) {
		if subjects[shared] == nil {
			subjects[shared] = map[intent.SetID]bool{}
		}
		subjects[shared][p.Subject] = true
	})
	parts := map[*intent.Rule][]intent.Part{}
	some := map[*intent.Rule]bool{}
	for i := range policies {
		policies[i].Rules = slices.Clone(policies[i].Rules)
	}
	w.eachPart(policies, func(_ *intent.Policy, r *intent.Rule, shared intent.SetID, peer intent.Peer) {
		if len(subjects[shared]) < 2 {
			shared = ""
		}
		parts[r] = append(parts[r], intent.Part{Shared: shared, Peer: peer})
		some[r] = some[r] || shared != ""
	})
	for r := range some {
		if r.Parts = parts[r]; !some[r] {
			r.Parts = nil
		}
	}
}

// eachPart calls do for every peer of each rule that may be shared.
func (w *World) eachPart(policies []intent.Policy, do func(*intent.Policy, *intent.Rule, intent.SetID, intent.Peer)) {
	for i := range policies {
		p := &policies[i]
		if p.Tier != intent.TierNetworkPolicy || p.Log.Allow != intent.SeverityNone {
			continue
		}
		for j := range p.Rules {
			r := &p.Rules[j]
			if r.Action != intent.Allow || r.Subject != "" || r.Peer.Kind == intent.PeerNone {
				continue
			}
			for _, peer := range w.divided(r.Peer) {
				do(p, r, intent.SharedSet(p.Direction, peer, r.Ports), peer)
			}
		}
	}
}

// divided returns the terms and the rest of a peer.
func (w *World) divided(peer intent.Peer) []intent.Peer {
	if peer.Kind != intent.PeerSet {
		return []intent.Peer{peer}
	}
	var out []intent.Peer
	add := func(l peerList) { out = append(out, intent.Peer{Kind: intent.PeerSet, Set: w.set(l)}) }
	list := w.terms[peer.Set]
	for _, t := range list.terms {
		add(peerList{terms: []term{t}, within: list.within})
	}
	if len(list.prefixes)+len(list.hosts) > 0 {
		add(peerList{prefixes: list.prefixes, hosts: list.hosts})
	}
	return out
}

// sharedSets lists the sets of all subjects of what policies share.
func (w *World) sharedSets(s *State) []SetSpec {
	var out []SetSpec
	at := map[intent.SetID]int{}
	for i := range s.Policies {
		p := &s.Policies[i]
		subject := s.Sets[slices.IndexFunc(s.Sets, func(spec SetSpec) bool { return spec.ID == p.Subject })]
		for j := range p.Rules {
			for _, part := range p.Rules[j].Parts {
				if part.Shared == "" {
					continue
				}
				if _, known := at[part.Shared]; !known {
					at[part.Shared] = len(out)
					out = append(out, SetSpec{ID: part.Shared})
				}
				spec := &out[at[part.Shared]]
				spec.Keys = slices.Compact(slices.SortedFunc(slices.Values(slices.Concat(spec.Keys, subject.Keys)), object.Key.Compare))
			}
		}
	}
	return out
}
