package reach

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// Class is a set of places that no policy of the snapshots distinguishes. It is safe for concurrent use.
type Class struct {
	Family intent.Families
	Places []Place // in order, at least one

	views []view // one for each snapshot
}

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

// Classify groups places into classes, ordered by their first place.
func Classify(places []Place, snapshots ...*intent.Snapshot) []*Class {
	indexes := make([]*index, len(snapshots))
	for i, s := range snapshots {
		indexes[i] = newIndex(s)
	}
	return classify(places, nil, indexes)
}

// classify is Classify for places with roles.
func classify(places []Place, roles map[Place]*Roles, indexes []*index) []*Class {
	byMark := map[string]*Class{}
	var out []*Class
	sorted := slices.Clone(places)
	slices.SortFunc(sorted, Place.Compare)
	for _, p := range sorted {
		as := roles[p]
		mark := []byte{byte(intent.FamilyOf(p.Party.Addr)), 0}
		if as != nil && as.Apart {
			mark[1] = 1
		}
		for n, x := range indexes {
			mark = x.mark(mark, as.roleIn(n, p))
		}
		c := byMark[string(mark)]
		if c == nil {
			c = &Class{Family: intent.FamilyOf(p.Party.Addr)}
			for n, x := range indexes {
				c.views = append(c.views, x.view(as.roleIn(n, p)))
			}
			byMark[string(mark)] = c
			out = append(out, c)
		}
		c.Places = append(c.Places, p)
	}
	return out
}

// Traffic is what passes from one class to another, of the same family, under the n-th snapshot: between two different
// places of theirs.
func (c *Class) Traffic(n int, to *Class) Traffic {
	if c.Family != to.Family {
		return Traffic{}
	}
	return c.views[n].allows(intent.Egress, &to.views[n]).Intersect(to.views[n].allows(intent.Ingress, &c.views[n]))
}

// Isolated reports whether a NetworkPolicy of the n-th snapshot isolates the class in a direction.
func (c *Class) Isolated(n int, d intent.Direction) bool { return c.views[n].sides[d].bound }

// Decided reports whether a policy of the n-th snapshot may decide on connections of the class in a direction: one isolates it, or has
// a rule for it that may deny, or allow before others deny.
func (c *Class) Decided(n int, d intent.Direction) bool { return !c.views[n].sides[d].open() }

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
