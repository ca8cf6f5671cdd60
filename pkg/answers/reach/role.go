package reach

import (
	"net/netip"

	"github.com/netloom/netloom/pkg/intent"
)

// Role is what a place is in one snapshot. The zero value is a place that does not exist there: nothing passes to it or from it.
type Role struct {
	Party  intent.Party
	Exists bool
}

// Roles says what a place is in each of two snapshots, if that is not the same endpoint with the same address.
type Roles struct {
	In    [2]Role
	Apart bool // the place is in no class with places that are not apart
}

// roleIn is what a place is in the n-th snapshot.
func (r *Roles) roleIn(n int, p Place) Role {
	if r == nil {
		return Role{Party: p.Party, Exists: true}
	}
	return r.In[n]
}

// absent is the view of a place that does not exist.
func (x *index) absent() view {
	v := view{sets: map[intent.SetID]bool{}, place: x.placeOf(nil)}
	for d := range v.sides {
		v.sides[d].bound = true
	}
	return v
}

// SideChange is what the policies of an endpoint allow with some classes of peers in a new state and did not in the old one, and the
// reverse, whatever the policies of the peers say.
type SideChange struct {
	Direction      intent.Direction
	Peers          []*Class
	Opened, Closed Traffic
}

// ImpactOnSelected finds, for endpoints that are in the given subject sets of each state and in no others, what changes for them in a
// direction. No subject set means that no policy selects them in that state. Places are the peers, which exist in both states.
func ImpactOnSelected(before, after *intent.Snapshot, places []Place, selected [][2][]intent.SetID) [][]SideChange {
	if len(selected) == 0 {
		return nil
	}
	indexes := []*index{newIndex(before), newIndex(after)}
	classes := classify(places, nil, indexes)
	out := make([][]SideChange, len(selected))
	for i, subjects := range selected {
		var views [2]view
		for n, x := range indexes {
			views[n] = x.viewOf(subjects[n], nil)
		}
		for _, d := range []intent.Direction{intent.Ingress, intent.Egress} {
			out[i] = append(out[i], sideChanges(d, &views, classes)...)
		}
	}
	return out
}

// sideChanges compares what two views of an endpoint allow with each class, and groups those of which it is the same.
func sideChanges(d intent.Direction, views *[2]view, classes []*Class) []SideChange {
	at := map[string]int{}
	var out []SideChange
	if views[0].sides[d].equal(&views[1].sides[d]) {
		return nil
	}
	for _, c := range classes {
		was, is := views[0].allows(d, &c.views[0]), views[1].allows(d, &c.views[1])
		change := SideChange{Direction: d, Opened: is.Minus(was), Closed: was.Minus(is)}
		if change.Opened.Empty() && change.Closed.Empty() {
			continue
		}
		key := change.Opened.key() + "|" + change.Closed.key()
		n, known := at[key]
		if !known {
			n = len(out)
			at[key], out = n, append(out, change)
		}
		out[n].Peers = append(out[n].Peers, c)
	}
	return out
}

// RoleOf is the role of an endpoint: with its first address of the same family as another one. It does not exist without one.
func RoleOf(e intent.Endpoint, like netip.Addr) Role {
	for _, a := range e.Addrs {
		if a.Is4() == like.Is4() {
			return Role{Party: intent.Party{Key: e.Key, Addr: a}, Exists: true}
		}
	}
	return Role{}
}
