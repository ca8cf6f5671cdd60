package tungsten

import (
	"fmt"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// cover finds out which of the endpoints that policies govern have no interface, or one on which they may have no effect, and publishes it.
func (b *Backend) cover(want *intent.Snapshot, m *model) {
	selected := map[object.Key]bool{}
	m.selected = selected
	var missing []backends.Gap
	for id := range m.rendering.governed {
		set := want.Set(id)
		if set == nil || set.Members == nil {
			continue
		}
		for e := range set.Members.All() {
			if len(e.Addrs)+len(e.Shared) == 0 || selected[e.Key] {
				continue
			}
			selected[e.Key] = true
			if gap, lacks := m.gapOf(b.names, e.Key, m.tags[e.Key]); lacks {
				missing = append(missing, gap)
			}
		}
	}
	b.published.Store(&backends.Coverage{Selected: len(selected), Missing: backends.Gaps{}.With(missing, nil)})
}

// recover does what cover does for the endpoints that changes of members and interfaces concern. The others are as before.
func (b *Backend) recover(want *intent.Snapshot, m *model, changes []intent.Change, touched wanted) {
	addressed := map[object.Key]bool{}
	for i := range changes {
		for _, d := range changes[i].Members {
			for j := range d.Joined {
				addressed[d.Joined[j].Key] = len(d.Joined[j].Addrs)+len(d.Joined[j].Shared) > 0
			}
		}
	}
	var missing []backends.Gap
	var found []object.Key
	for k := range touched {
		has, joined := addressed[k]
		if !joined {
			has = m.selected[k] // it did not begin to be governed, and its addresses are the same
		}
		if delete(m.selected, k); has && m.rendering.governs(want, k) {
			m.selected[k] = true
		}
		if gap, lacks := m.gapOf(b.names, k, touched[k]); lacks && m.selected[k] {
			missing = append(missing, gap)
		} else {
			found = append(found, k)
		}
	}
	was, _ := b.Coverage()
	b.published.Store(&backends.Coverage{Selected: len(m.selected), Missing: was.Missing.With(missing, found)})
}

// governs reports whether policies govern an endpoint.
func (r *rendering) governs(want *intent.Snapshot, k object.Key) bool {
	for id := range r.governed {
		if want.Set(id).HasKey(k) {
			return true
		}
	}
	return false
}

// gapOf returns what an endpoint that is to have some tags lacks; false if it lacks nothing.
func (m *model) gapOf(names namer, k object.Key, tags []string) (backends.Gap, bool) {
	all := m.ports.byKey[k]
	if len(all) == 0 {
		return backends.Gap{Endpoint: k, Lacks: "interface of kube-manager"}, true
	}
	if _, egress := slices.BinarySearch(tags, names.uuid(tungsten.KindTag, names.coverTag(intent.Egress))); !egress {
		return backends.Gap{}, false
	}
	for _, p := range all {
		if p.rival != "" {
			return backends.Gap{Endpoint: k, Lacks: fmt.Sprintf("certain effect of egress policies: interface %s also has somebody else's tag %s, "+
				"and a vrouter keeps only one tag of the type %s", p.name, p.rival, typeFWaaS)}, true
		}
	}
	return backends.Gap{}, false
}
