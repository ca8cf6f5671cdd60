package reach

import (
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// Class is a set of places that no policy of the snapshots distinguishes.
type Class struct {
	Family intent.Families
	Places []Place // in order, at least one

	views []view // one for each snapshot
}

// view is a class in one snapshot.
type view struct {
	peers [2]map[intent.SetID]Traffic // by direction: what rules of the class's policies allow to or from a set
	any   [2]Traffic                  // and to or from any place
	bound [2]bool                     // some policy isolates the class
	sets  map[intent.SetID]bool       // that contain the class's addresses, of those that rules name as peers
}

// Classify groups places into classes, ordered by their first place.
func Classify(places []Place, snapshots ...*intent.Snapshot) []*Class {
	indexes := make([]*index, len(snapshots))
	for i, s := range snapshots {
		indexes[i] = newIndex(s)
	}
	byMark := map[string]*Class{}
	var out []*Class
	ordered := slices.Clone(places)
	slices.SortFunc(ordered, Place.compare)
	for _, p := range ordered {
		mark := []byte{byte(intent.FamilyOf(p.Party.Addr))}
		for _, x := range indexes {
			mark = x.mark(mark, p.Party)
		}
		c := byMark[string(mark)]
		if c == nil {
			c = &Class{Family: intent.FamilyOf(p.Party.Addr)}
			for _, x := range indexes {
				c.views = append(c.views, x.view(p.Party))
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

// Isolated reports whether a policy of the n-th snapshot isolates the class in a direction.
func (c *Class) Isolated(n int, d intent.Direction) bool { return c.views[n].bound[d] }

// allows is the traffic that a class allows with a peer in a direction.
func (v *view) allows(d intent.Direction, peer *view) Traffic {
	if !v.bound[d] {
		return All()
	}
	allowed := v.any[d]
	for set, t := range v.peers[d] {
		if peer.sets[set] {
			allowed = allowed.Union(t)
		}
	}
	return allowed
}
