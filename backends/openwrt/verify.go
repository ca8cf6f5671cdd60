package openwrt

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/openwrt/internal/compare"
	"github.com/netloom/netloom/backends/openwrt/internal/kernel"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
)

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
