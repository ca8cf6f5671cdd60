package tungsten

import (
	"context"
	"fmt"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// Plan implements backends.Backend.
func (b *Backend) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	b.pending, b.asked = nil, false
	lowered := b.lowering.Next(want)
	plan := &backends.Plan{Revision: want.Revision(), Full: since == 0}
	var err error
	if since == 0 {
		err = b.planAll(ctx, plan, lowered)
	} else {
		err = b.planChanges(ctx, plan, lowered, since)
	}
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if !plan.Resync {
		plan.Skips = append(slices.Clip(plan.Skips), b.skips()...)
	}
	return plan, nil
}

// again plans once more what was pending: the controller has no ID for a tag, and created the others before it.
func (b *Backend) again(of *pending, created []*tungsten.Object) error {
	p := of.plan
	p.Skips = nil
	if err := of.again(p, created); err != nil {
		return fmt.Errorf("plan again: %w", err)
	}
	p.Skips = append(slices.Clip(p.Skips), b.skips()...)
	return nil
}

// skips lists what the controller cannot express because of its limits.
func (b *Backend) skips() []backends.Skip { return overflows(b.lowering) }

// overflows reports the rules that would pass too much.
func overflows(l *intent.Lowering) []backends.Skip {
	var out []backends.Skip
	for _, o := range l.Overflows() {
		out = append(out, backends.Skip{Intent: string(o.Policy), Reason: fmt.Sprintf(
			"%s: what cluster-wide policies pass needs more than %d rules; this rule denies instead", o.Path, maxRaised)})
	}
	return out
}
