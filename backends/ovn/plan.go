package ovn

import (
	"context"
	"fmt"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// Plan implements backends.Backend: it decides what to look at, plans that and proposes the result.
func (b *Backend) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if !b.client.Connected() {
		return nil, fmt.Errorf("plan: %w: %w", backends.ErrUnreachable, b.client.NotConnected())
	}
	for _, c := range b.client.PortChanges() {
		b.moved[c.Name] = append(b.moved[c.Name], c.Left...)
	}
	b.pending = nil
	want, skips := b.lowered(want)
	var p *proposal
	var err error
	if changes, readBack := b.changesSince(want, since); readBack == "" {
		p, err = b.planChanges(ctx, want, changes)
	} else {
		p, err = b.planAll(ctx, want, readBack)
	}
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	p.plan.Skips = append(p.plan.Skips, skips...)
	backends.Pass(ctx, backends.Planned)
	return b.propose(p), nil
}

// lowered returns a snapshot as the target can have it. For a target without tiers, it also returns the rules that would pass too much.
func (b *Backend) lowered(want *intent.Snapshot) (*intent.Snapshot, []backends.Skip) {
	if hasTiers(b.client.Schema()) {
		return want, nil
	}
	want = b.lowering.Next(want)
	return want, overflows(b.lowering)
}

// overflows reports the rules that would pass too much.
func overflows(l *intent.Lowering) []backends.Skip {
	var out []backends.Skip
	for _, o := range l.Overflows() {
		out = append(out, backends.Skip{Intent: string(o.Policy), Reason: fmt.Sprintf(
			"%s: without ACL tiers, what cluster-wide policies pass needs more than %d rules; this rule denies instead", o.Path, intent.MaxRaised)})
	}
	return out
}
