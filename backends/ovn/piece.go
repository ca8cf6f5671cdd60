package ovn

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// A piece is the part of a group that comes from one policy. The group keeps it, so that a change of one policy does not render the others.

// piece returns the part of the group of subject that comes from p. It reuses that of before, which may be nil, if p has not changed: snapshots
// share unchanged policies, and a change in how peers match causes a read-back (see Backend.changesSince).
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

// isIndependent reports whether the rows of a policy depend on the policy alone and nothing has to be reported about it. Cluster-wide policies
// have a place among others; the rows of a denial depend on the addresses from which pods reach themselves.
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
