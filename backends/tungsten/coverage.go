package tungsten

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// cover finds out which of the endpoints that policies govern have no interface, and publishes it.
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
			if len(m.ports.byKey[e.Key]) == 0 {
				missing = append(missing, gapOf(e.Key))
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
		if m.selected[k] && len(m.ports.byKey[k]) == 0 {
			missing = append(missing, gapOf(k))
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

func gapOf(k object.Key) backends.Gap {
	return backends.Gap{Endpoint: k, Lacks: "interface of kube-manager"}
}
