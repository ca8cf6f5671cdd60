package compare

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/kernel"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Repairs makes ops from what was found in the kernel, and from what the device has forgotten.
func (c *Comparison) Repairs(f kernel.Findings, forgotten []section.Key, lost map[section.Key]openwrt.Object, before map[section.Key]string) {
	planned, rules := map[section.Key]bool{}, false
	for i := range c.Ops {
		k := StepOf(&c.Ops[i]).Key
		planned[k], rules = true, rules || k.Kind == openwrt.RouteRules
	}
	for _, k := range section.Sorted(f.Absent) {
		w := c.Want.Objects[k]
		if w == nil || planned[k] {
			continue
		}
		wrong := "missing"
		if _, behind := f.Behind[k]; behind {
			if rules {
				continue // they may not stay where they are: verify compares the order again
			}
			wrong = "behind other rules"
		}
		c.Ops = append(c.Ops, backends.Op{
			Verb: backends.Update, Kind: k.Kind.String(), Name: k.Name, Origin: w.Origin,
			Before: backends.Fields{"kernel": wrong}, After: backends.Fields{"kernel": "present"}, Again: before[k] != "",
			Native: &Step{Stage: writing(k.Kind, w.Object), Key: k, Want: w, Intent: w.Intent},
		})
	}
	remove := func(when stage, kind openwrt.Kind, o openwrt.Object) {
		c.Ops = append(c.Ops, backends.Op{
			Verb: backends.Delete, Kind: kind.String(), Name: o.Name(), Before: backends.Fields{"kernel": "left over"},
			Native: &Step{Stage: when, Key: section.Key{Kind: kind, Name: o.Name()}, Surplus: o, Intent: section.Key{Kind: kind, Name: o.Name()}.String()},
		})
	}
	for _, what := range slices.Sorted(maps.Keys(f.Surplus)) {
		o := f.Surplus[what].Object
		remove(Release, kernel.SurplusKind(o), o)
	}
	for _, k := range forgotten {
		if k.Kind == openwrt.NATs {
			remove(Close, k.Kind, section.WithoutPlace(lost[k])) // before one of the same name is written
		}
	}
}

// AbsentSkips reports what the kernel lacks, except what is about to be written again. Want has the intents of objects that were
// not written by this process.
func AbsentSkips(h *device.Inventory, want *render.Desired, ops ...backends.Op) []backends.Skip {
	var out []backends.Skip
	for k, why := range h.Absent {
		if slices.ContainsFunc(ops, func(op backends.Op) bool { return StepOf(&op).Key == k }) {
			continue
		}
		of := k.String()
		if have := h.Objects[k]; have != nil && have.As != nil {
			of = have.As.Intent
		} else if want != nil && want.Objects[k] != nil {
			of = want.Objects[k].Intent
		}
		out = append(out, backends.Skip{Intent: of, Reason: why})
	}
	if h.Unseen != "" {
		out = append(out, backends.Skip{Intent: "kernel", Reason: h.Unseen})
	}
	return out
}
