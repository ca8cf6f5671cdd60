package tungsten

import (
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/tungsten"
)

// balancers compares the load balancers that the owner has with those that it should have.
func (c *comparison) balancers(have, want map[string]*tungsten.Object) error {
	before := len(c.ops)
	for _, id := range slices.Sorted(maps.Keys(want)) {
		o := want[id]
		if old := have[id]; old != nil {
			if err := c.update(creation(o.Kind), old, o); err != nil {
				return err
			}
			continue
		}
		ph := creation(o.Kind)
		if pool := c.names.uuid(tungsten.KindPool, strings.Join(o.FQName[:len(o.FQName)-1], ":")); o.Kind == tungsten.KindMember && have[pool] != nil {
			ph = joinMember
		}
		op, err := createOf(ph, o)
		if err != nil {
			return err
		}
		c.ops = append(c.ops, op)
	}
	for _, id := range slices.Sorted(maps.Keys(have)) {
		if want[id] == nil {
			c.ops = append(c.ops, deleteOf(deletion(have[id].Kind), have[id]))
		}
	}
	for i := before; i < len(c.ops); i++ {
		c.live.balancers = true
		w, _ := c.ops[i].op.Native.(write)
		switch {
		case w.create != nil:
			w.vip = c.names.vipOf(w.create)
		case w.delete != nil:
			w.vip = c.names.vipOf(w.delete)
		case w.update != nil:
			w.vip = c.names.vipOf(want[w.update.uuid])
		}
		c.ops[i].op.Native = w
	}
	return nil
}
