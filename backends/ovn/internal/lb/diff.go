package lb

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// delta is how rendered load balancers differ from the model, which it does not change.
type delta struct {
	m            *Model
	next         map[intent.LoadBalancerID]*rendering // nil if there is nothing any more
	joined, left map[place]map[string]bool            // rows that are added to a place and removed from it, by UUID
	put, cut     map[string]map[string]string         // template variables that are added and removed, by chassis
}

// diff compares renderings with the model.
func diff(m *Model, next map[intent.LoadBalancerID]*rendering) *delta {
	d := &delta{
		m: m, next: next, joined: map[place]map[string]bool{}, left: map[place]map[string]bool{},
		put: map[string]map[string]string{}, cut: map[string]map[string]string{},
	}
	for id, now := range next {
		was := m.renderings[id]
		if was == nil {
			was = &rendering{}
		}
		if now == nil {
			now = &rendering{}
		}
		collect(d.joined, now.rows, was.rows)
		collect(d.left, was.rows, now.rows)
		for chassis, vars := range now.vars {
			maps.Copy(within(d.put, chassis), nb.Differing(vars, was.vars[chassis]))
		}
		for chassis, vars := range was.vars {
			maps.Copy(within(d.cut, chassis), nb.Differing(vars, now.vars[chassis]))
		}
	}
	return d
}

// collect adds rows to their places, except those that others has in the same place.
func collect(out map[place]map[string]bool, rows, others map[string]placed) {
	for uuid, lb := range rows {
		if other, there := others[uuid]; !there || other.at != lb.at {
			within(out, lb.at)[uuid] = true
		}
	}
}

// after lists the rows that a place will have, in order.
func (d *delta) after(at place) []string {
	out := make([]string, 0, len(d.m.members[at])+len(d.joined[at]))
	for uuid := range d.m.members[at] {
		if !d.left[at][uuid] {
			out = append(out, uuid)
		}
	}
	for uuid := range d.joined[at] {
		out = append(out, uuid)
	}
	slices.Sort(out)
	return out
}

// size returns how many rows a place will have.
func (d *delta) size(at place) int {
	return len(d.m.members[at]) - len(d.left[at]) + len(d.joined[at])
}

// places lists all places that have or will have rows.
func (d *delta) places() map[place]bool {
	out := map[place]bool{}
	for at := range d.m.members {
		out[at] = true
	}
	for at := range d.joined {
		out[at] = true
	}
	return out
}

// moves reports whether references of switches and routers may have to change.
func (d *delta) moves() bool {
	for _, changed := range []map[place]map[string]bool{d.joined, d.left} {
		for at := range changed {
			existed := len(d.m.members[at]) > 0
			if !d.m.grouped(at) || existed != (d.size(at) > 0) {
				return true
			}
		}
	}
	for id, b := range d.next {
		if d.m.restricted[id] || b != nil && b.restricted {
			return true
		}
	}
	return false
}

// acls returns those that deny sources, of all load balancers, and their UUIDs by network.
func (d *delta) acls() (byNetwork map[string][]string, rows nb.Rows) {
	byNetwork, rows = map[string][]string{}, nb.Rows{}
	add := func(b *rendering) {
		if b == nil {
			return
		}
		for uuid, acl := range b.acls {
			byNetwork[b.network] = append(byNetwork[b.network], uuid)
			rows.Put(acl)
		}
	}
	for id := range d.m.restricted {
		if _, rendered := d.next[id]; !rendered {
			add(d.m.renderings[id])
		}
	}
	for _, b := range d.next {
		add(b)
	}
	return byNetwork, rows
}

// varsAfter returns the template variables that a chassis will have.
func (d *delta) varsAfter(chassis string) map[string]string {
	out := maps.Clone(d.m.vars[chassis])
	if out == nil {
		out = map[string]string{}
	}
	for name := range d.cut[chassis] {
		delete(out, name)
	}
	maps.Copy(out, d.put[chassis])
	return out
}

// chassis returns those with template variables that are added or removed.
func (d *delta) chassis() map[string]bool {
	out := map[string]bool{}
	for _, m := range []map[string]map[string]string{d.put, d.cut} {
		for chassis, vars := range m {
			if len(vars) > 0 {
				out[chassis] = true
			}
		}
	}
	return out
}

// varsLeft reports whether a chassis will have template variables.
func (d *delta) varsLeft(chassis string) bool {
	if len(d.put[chassis]) > 0 {
		return true
	}
	for name := range d.m.vars[chassis] {
		if _, goes := d.cut[chassis][name]; !goes {
			return true
		}
	}
	return false
}

// commit applies the delta to the model.
func (d *delta) commit() {
	for chassis := range d.chassis() {
		vars := within(d.m.vars, chassis)
		for name := range d.cut[chassis] {
			delete(vars, name)
		}
		maps.Copy(vars, d.put[chassis])
		if len(vars) == 0 {
			delete(d.m.vars, chassis)
		}
	}
	for id, b := range d.next {
		d.m.put(id, b)
	}
	d.m.move(d.joined, d.left)
}
