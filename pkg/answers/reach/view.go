package reach

import (
	"maps"

	"github.com/netloom/netloom/pkg/intent"
)

// view is a class in one snapshot.
type view struct {
	sides [2]side               // by direction
	sets  map[intent.SetID]bool // that contain the class's addresses, of those that rules name as peers
	place int                   // its number among those that are in different sets, of those that ordered rules name
}

// side is the policies of a class in one direction.
type side struct {
	allow, deny rules    // of NetworkPolicies
	bound       bool     // some NetworkPolicy isolates the class
	always      rules    // of the system tier: they allow whatever others say; in allow if nothing else can deny what that has
	around      *ordered // the rules of ordered tiers; nil if there are none
}

// rules is the union of rules, whose order does not matter.
type rules struct {
	any   Traffic                  // to or from any place
	peers map[intent.SetID]Traffic // to or from the places of a set
}

// allows is the traffic that a class allows with a peer in a direction.
func (v *view) allows(d intent.Direction, peer *view) Traffic {
	s := &v.sides[d]
	if s.open() {
		return All()
	}
	if s.union() {
		return s.allow.with(peer)
	}
	out, around := s.allow.with(peer), s.around.outcomeFor(peer)
	if !s.bound {
		out = out.Union(around.baseline)
	}
	if !s.deny.empty() {
		out = out.Minus(s.deny.with(peer))
	}
	if s.around != nil {
		out = out.Intersect(around.rest).Union(around.allowed)
	}
	if !s.always.empty() {
		out = out.Union(s.always.with(peer))
	}
	return out
}

// open reports whether everything is allowed, whatever the peer.
func (s *side) open() bool { return !s.bound && s.around == nil && s.deny.empty() }

// union reports whether exactly what allow has is allowed.
func (s *side) union() bool { return s.bound && s.around == nil && s.deny.empty() && s.always.empty() }

// equal reports whether two sides allow the same with peers that are in the same sets.
func (s *side) equal(o *side) bool {
	return s.bound == o.bound && s.allow.equal(&o.allow) && s.deny.equal(&o.deny) &&
		s.always.equal(&o.always) && s.around.equal(o.around)
}

// with is the union of the rules for a peer.
func (r *rules) with(peer *view) Traffic {
	out := r.any
	for set, t := range r.peers {
		if peer.sets[set] {
			out = out.Union(t)
		}
	}
	return out
}

func (r *rules) empty() bool { return r.any.Empty() && len(r.peers) == 0 }

func (r *rules) equal(o *rules) bool {
	return r.any.Equal(o.any) && maps.EqualFunc(r.peers, o.peers, Traffic.Equal)
}

// add adds traffic with a set, or with any place if it is "".
func (r *rules) add(set intent.SetID, t Traffic) {
	switch {
	case t.Empty():
	case set == "":
		r.any = r.any.Union(t)
	default:
		if r.peers == nil {
			r.peers = map[intent.SetID]Traffic{}
		}
		r.peers[set] = r.peers[set].Union(t)
	}
}
