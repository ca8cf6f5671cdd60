package tungsten

import (
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// wanted is the UUIDs of the tags that each endpoint should have, sorted.
type wanted map[object.Key][]string

// members lists the tags of all endpoints.
func (r *rendering) members() wanted {
	out := wanted{}
	r.bare = map[object.Key]bool{}
	for _, u := range r.uses {
		set := r.want.Set(u.set)
		if set == nil || set.Members == nil {
			continue
		}
		id := r.names.uuid(tungsten.KindTag, u.tag)
		for e := range set.Members.All() {
			if !u.peer || !r.spelled(e) && len(e.Addrs) > 0 {
				out[e.Key] = append(out[e.Key], id)
			} else {
				r.bare[e.Key] = true
			}
		}
	}
	for k, tags := range out {
		slices.Sort(tags)
		out[k] = slices.Compact(tags)
	}
	return out
}

// tagsOf lists the tags of one endpoint. No peer is one that is bare: without addresses of its own.
func (r *rendering) tagsOf(want *intent.Snapshot, k object.Key, bare bool) []string {
	var out []string
	for _, u := range r.uses {
		if (!u.peer || !bare) && want.Set(u.set).HasKey(k) {
			out = append(out, r.names.uuid(tungsten.KindTag, u.tag))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// onlyMembers returns the endpoints whose membership changed, and whether they are bare now, if changes are about nothing else and
// no rule depends on them.
func (r *rendering) onlyMembers(changes []intent.Change) (map[object.Key]bool, bool) {
	touched := map[object.Key]bool{}
	for i := range changes {
		c := &changes[i]
		if len(c.Policies)+len(c.Sets) > 0 {
			return nil, false
		}
		for j := range c.Members {
			d := &c.Members[j]
			if r.listed[d.ID] || slices.ContainsFunc(d.Joined, r.spelled) || slices.ContainsFunc(d.Left, r.spelled) {
				return nil, false
			}
			for k := range d.Left {
				if key := d.Left[k].Key; !touched[key] {
					touched[key] = r.bare[key]
				}
			}
			for k := range d.Joined {
				touched[d.Joined[k].Key] = len(d.Joined[k].Addrs) == 0
			}
		}
	}
	return touched, true
}

// of lists the interfaces of endpoints, by UUID.
func (p *ports) of(tags wanted) []*port {
	var out []*port
	for k := range tags {
		out = append(out, p.byKey[k]...)
	}
	slices.SortFunc(out, func(a, b *port) int { return strings.Compare(a.uuid, b.uuid) })
	return out
}
