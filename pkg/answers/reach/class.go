package reach

import (
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// Class is a set of places that no policy of the snapshots distinguishes. It is safe for concurrent use.
type Class struct {
	Family intent.Families
	Places []Place // in order, at least one

	views []view // one for each snapshot
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
