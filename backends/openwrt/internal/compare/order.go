package compare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
)

// handOver deletes first the objects whose place in the kernel another object takes.
func (c *Comparison) handOver() {
	gains := map[string]section.Key{}
	for i := range c.Ops {
		if s := StepOf(&c.Ops[i]); s.Want != nil {
			for _, p := range section.Places(s.Key.Kind, s.Want.Object) {
				gains[p] = s.Key
			}
		}
	}
	for i := range c.Ops {
		s := StepOf(&c.Ops[i])
		have := c.Have.Objects[s.Key]
		if s.Want == nil || have == nil {
			continue
		}
		for _, p := range section.Places(s.Key.Kind, have.Object) {
			if to, goes := gains[p]; goes && to != s.Key {
				s.Clear = true
			}
		}
	}
}

// Order sorts ops by stage, and so that referenced objects exist.
func (c *Comparison) Order() {
	slices.SortStableFunc(c.Ops, func(a, b backends.Op) int {
		x, y := StepOf(&a), StepOf(&b)
		if x.Stage != y.Stage {
			return cmp.Compare(x.Stage, y.Stage)
		}
		if x.Stage == Sweep {
			return cmp.Or(cmp.Compare(y.Key.Kind, x.Key.Kind), strings.Compare(x.Key.Name, y.Key.Name))
		}
		return cmp.Or(cmp.Compare(x.Key.Kind, y.Key.Kind), cmp.Compare(x.rank(), y.rank()), strings.Compare(x.sequence(), y.sequence()),
			x.Key.Compare(y.Key))
	})
}
