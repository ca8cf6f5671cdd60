package ovn

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// A piece is what a group has of one of its policies. It is kept with the group, so that a change of one policy renders none of the others.

// piece returns what the group of subject has of p, from the group before, which may be nil, if it is the same. Snapshots share policies
// that did not change. How their peers match stays the same as well, or there is a read-back (see Backend.changesSince).
func (r *renderer) piece(before *group, subject intent.SetID, p *intent.Policy) *group {
	if before != nil {
		if piece := before.pieces[p]; piece != nil && isIndependent(p) {
			return piece
		}
	}
	piece := newGroup(subject)
	r.policy(piece, p)
	return piece
}

// isIndependent reports whether the rows of a policy depend on nothing but the policy, and there is nothing to report about it: it has no
// place among others, and denies nothing, which would depend on the addresses from which pods reach themselves.
func isIndependent(p *intent.Policy) bool {
	return p.Tier == intent.TierNetworkPolicy && !slices.ContainsFunc(p.Rules, func(rule intent.Rule) bool {
		return rule.Action != intent.Allow || inexpressible(&rule) != ""
	})
}

// put adds a piece. An ACL that the group has already gets more sources.
func (g *group) put(p *intent.Policy, piece *group) {
	for uuid, acl := range piece.acls {
		if have := g.acls[uuid]; have != nil {
			g.share(have, acl.Origin)
		} else {
			g.acls.Put(acl)
		}
		for origin := range piece.also[uuid] {
			g.share(g.acls[uuid], origin)
		}
	}
	maps.Copy(g.peers, piece.peers)
	maps.Copy(g.meters, piece.meters)
	if g.pieces == nil {
		g.pieces = map[*intent.Policy]*group{}
	}
	g.pieces[p] = piece
}
