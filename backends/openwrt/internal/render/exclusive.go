package render

import (
	"fmt"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// exclusive returns what no other object can have, besides its name.
func (r *renderer) exclusive(w *Wanted) []string {
	var out []string
	name := func(section string) { out = append(out, w.Space()+" name "+section) }
	for _, m := range list(w.Object["members"]) {
		s, _ := m["interface"].(string)
		name(w.Name + "_" + s)
	}
	for _, c := range list(w.Object["connections"]) {
		name(c.Name())
	}
	return append(out, section.Places(w.Kind, w.Object)...)
}

// reserve records what only one intent can have. It returns an error if another already has some of it.
func (r *renderer) reserve(e *intent.DeviceIntent, exclusive []string) error {
	seen := map[string]bool{}
	for _, c := range exclusive {
		if rival, taken := r.taken[c]; taken {
			return fmt.Errorf("%s is already used by %s", c, rival)
		}
		if seen[c] {
			return fmt.Errorf("%s would exist twice", c)
		}
		seen[c] = true
	}
	for c := range seen {
		r.taken[c] = string(e.ID)
	}
	return nil
}

// list returns the objects in a field, nil when there are none.
func list(v any) []openwrt.Object {
	out, _ := v.([]openwrt.Object)
	return out
}
