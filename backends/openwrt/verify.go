package openwrt

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/openwrt/internal/compare"
	"github.com/netloom/netloom/backends/openwrt/internal/kernel"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

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
func (w *writer) removeSurplus(ctx context.Context, s *task) error {
	if s.Key.Kind == openwrt.Remotes {
		if err := w.begin(ctx, s.Service()); err != nil {
			return err
		}
		w.wrote(s.Service())
		if err := w.drain(ctx, s.Key.Kind, s.Surplus); err != nil {
			return err
		}
		return w.forgetParts(ctx, s.Key.Name, "")
	}
	w.kernel = true
	delete(w.b.memory.Objects, s.Key)
	return w.drain(ctx, s.Key.Kind, s.Surplus)
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
		w.have.Absent, w.b.absent = f.Absent, f.Absent
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
			if err := w.drain(ctx, kernel.SurplusKind(o), o); err != nil && !answered(err) {
				return err
			}
		}
		for _, k := range missing {
			if as := w.have.Objects[k].As; as != nil {
				if _, err := w.b.client.Put(ctx, k.Kind, as.Object); err != nil && !answered(err) {
					return err
				}
			}
		}
	}
}

// reportAbsent adds skips for what the kernel lacks.
func (w *writer) reportAbsent() {
	for _, skip := range compare.AbsentSkips(w.have, nil) {
		if !slices.Contains(w.plan.Skips, skip) {
			w.plan.Skips = append(w.plan.Skips, skip)
		}
	}
}
