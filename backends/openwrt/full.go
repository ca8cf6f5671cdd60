package openwrt

import (
	"context"
	"fmt"
	"maps"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/compare"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/pkg/intent"
)

// planAll renders everything, reads back everything and compares.
func (b *Backend) planAll(ctx context.Context, want *intent.Snapshot, g *intent.CNF) (*backends.Plan, error) {
	b.model = nil
	next := &model{enforced: b.enforced(want, g)}
	if err := b.renderResources(ctx, next, want, g, nil); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	b.rests.begin(g.Run)
	var err error
	if next.have, err = b.observe(ctx, next.resources, len(next.enforced) > 0); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	next.policies = render.Policies(want, next.enforced, next.resources, next.have.Zones, b.names)
	next.withoutZones()
	if err := b.readItems(ctx, next); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	memory := b.remembers(g.Run)
	found, err := b.inspect(ctx, next.have)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	before := b.absent
	next.have.Absent, b.absent = found.Absent, found.Absent
	forgotten := memory.Forgotten(next.have)
	lost := maps.Clone(memory.Objects)
	memory.Update(next.have, forgotten)
	plan := b.compare(next, want, func(c *compare.Comparison) { c.Repairs(found, forgotten, lost, before) })
	return b.propose(plan, next), nil
}
