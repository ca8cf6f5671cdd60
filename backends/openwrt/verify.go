package openwrt

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/kernel"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// impossiblePlace is a place that no chain has: the device stores a translation with it, and iptables adds none.
const impossiblePlace = "2147483647"

// repairs makes ops from what was found in the kernel, and from what the device has forgotten.
func (c *comparison) repairs(f kernel.Findings, forgotten []section.Key, lost map[section.Key]openwrt.Object, before map[section.Key]string) {
	planned, rules := map[section.Key]bool{}, false
	for i := range c.ops {
		k := stepOf(&c.ops[i]).key
		planned[k], rules = true, rules || k.Kind == openwrt.RouteRules
	}
	for _, k := range section.Sorted(f.Absent) {
		w := c.want.Objects[k]
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
		c.ops = append(c.ops, backends.Op{
			Verb: backends.Update, Kind: k.Kind.String(), Name: k.Name, Origin: w.Origin,
			Before: backends.Fields{"kernel": wrong}, After: backends.Fields{"kernel": "present"}, Again: before[k] != "",
			Native: &step{stage: place, key: k, want: w, intent: w.Intent},
		})
	}
	remove := func(when stage, kind openwrt.Kind, o openwrt.Object) {
		c.ops = append(c.ops, backends.Op{
			Verb: backends.Delete, Kind: kind.String(), Name: o.Name(), Before: backends.Fields{"kernel": "left over"},
			Native: &step{stage: when, key: section.Key{Kind: kind, Name: o.Name()}, surplus: o, intent: section.Key{Kind: kind, Name: o.Name()}.String()},
		})
	}
	for _, what := range slices.Sorted(maps.Keys(f.Surplus)) {
		o := f.Surplus[what].Object
		remove(release, surplusKind(o), o)
	}
	for _, k := range forgotten {
		if k.Kind == openwrt.NATs {
			remove(release, k.Kind, withoutPlace(lost[k]))
		}
	}
}

// surplusKind returns the kind of an object in findings.
func surplusKind(o openwrt.Object) openwrt.Kind {
	if _, isRoute := o["dev"]; isRoute {
		return openwrt.Routes
	}
	return openwrt.RouteRules
}

// withoutPlace returns a translation that the device stores without effect.
func withoutPlace(o openwrt.Object) openwrt.Object {
	out := openwrt.Object{}
	for f, v := range o {
		out[f] = v
	}
	out["index"] = impossiblePlace
	return out
}

// drain removes from the kernel what an object stands for, once: the device stores the object without effect, because the kernel
// has it already or because its place does not exist, and then deletes it.
func (w *writer) drain(ctx context.Context, kind openwrt.Kind, o openwrt.Object) error {
	if _, err := w.b.client.Put(ctx, kind, o); err != nil {
		return fmt.Errorf("remove what is left of it: %w", err)
	}
	if err := w.b.client.Delete(ctx, kind, o.Name()); err != nil && !openwrt.IsNotFound(err) {
		return fmt.Errorf("remove what is left of it: %w", err)
	}
	return nil
}

// removeSurplus removes what the device does not list and what objects of ours left behind.
func (w *writer) removeSurplus(ctx context.Context, s *step) error {
	if s.key.Kind == openwrt.Remotes {
		if err := w.begin(ctx, s.service()); err != nil {
			return err
		}
		w.wrote(s.service())
		if err := w.drain(ctx, s.key.Kind, s.surplus); err != nil {
			return err
		}
		return w.forgetParts(ctx, s.key.Name, "")
	}
	w.kernel = true
	delete(w.b.memory.objects, s.key)
	return w.drain(ctx, s.key.Kind, s.surplus)
}

// mostRepairs is how often verify repairs what it finds. Removing a rule may remove another one that the kernel takes for it.
const mostRepairs = 3

// verify checks that the kernel has what was written, and again after repairing what can be repaired, as long as that changes anything.
func (w *writer) verify(ctx context.Context) error {
	if !w.kernel || w.have == nil {
		return nil
	}
	last := ""
	for repairs := 0; ; repairs++ {
		f, err := w.b.inspect(ctx, w.have)
		if err != nil {
			return err
		}
		w.have.absent, w.b.absent = f.Absent, f.Absent
		missing := slices.DeleteFunc(section.Sorted(f.Absent), func(k section.Key) bool {
			_, behind := f.Behind[k]
			return w.written[k] && !behind && repairs == 0 && len(f.Surplus) == 0
		})
		now := fmt.Sprint(missing, slices.Sorted(maps.Keys(f.Surplus)))
		if repairs == mostRepairs || now == last || len(missing)+len(f.Surplus) == 0 {
			w.reportAbsent()
			return nil
		}
		last = now
		for _, what := range slices.Sorted(maps.Keys(f.Surplus)) {
			o := f.Surplus[what].Object
			if err := w.drain(ctx, surplusKind(o), o); err != nil && !answered(err) {
				return err
			}
		}
		for _, k := range missing {
			if as := w.have.objects[k].as; as != nil {
				if _, err := w.b.client.Put(ctx, k.Kind, as.Object); err != nil && !answered(err) {
					return err
				}
			}
		}
	}
}

// reportAbsent adds skips for what the kernel lacks.
func (w *writer) reportAbsent() {
	for _, skip := range w.have.absentSkips(nil) {
		if !slices.Contains(w.plan.Skips, skip) {
			w.plan.Skips = append(w.plan.Skips, skip)
		}
	}
}

// absentSkips reports what the kernel lacks, except what is about to be written again. Want has the intents of objects that were
// not written by this process.
func (h *inventory) absentSkips(want *render.Desired, ops ...backends.Op) []backends.Skip {
	var out []backends.Skip
	for k, why := range h.absent {
		if slices.ContainsFunc(ops, func(op backends.Op) bool { return stepOf(&op).key == k }) {
			continue
		}
		of := k.String()
		if have := h.objects[k]; have != nil && have.as != nil {
			of = have.as.Intent
		} else if want != nil && want.Objects[k] != nil {
			of = want.Objects[k].Intent
		}
		out = append(out, backends.Skip{Intent: of, Reason: why})
	}
	if h.unseen != "" {
		out = append(out, backends.Skip{Intent: "kernel", Reason: h.unseen})
	}
	return out
}
