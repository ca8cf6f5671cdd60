package tungsten

import (
	"context"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// planAll reads back everything, renders everything and compares.
func (b *Backend) planAll(ctx context.Context, plan *backends.Plan, want *intent.Snapshot) error {
	b.interfaces.begin()
	b.addresses.begin()
	b.own.take()
	b.moved = nil
	b.forgetForeign()
	seen, err := b.observe(ctx)
	if err != nil {
		b.model = nil
		return err
	}
	if !b.begun {
		b.recallLimits(seen.policies)
	}
	return b.planSeen(plan, want, seen, b.retries())
}

// planSeen compares what was read with what should be there. If probe is set, it tries again what was refused before.
func (b *Backend) planSeen(plan *backends.Plan, want *intent.Snapshot, seen *observed, probe bool) error {
	have := seen.policies
	kept := unavailable{names: b.names, keep: b.keep, want: want, have: seen.balancers}
	r := render(b.names, b.local, want, b.limitsOf(have), kept.vips(seen.addresses))
	tags := r.members()
	plan.Owned = len(have) + len(seen.balancers)
	next := &model{
		snapshot: want, rendering: r, objects: r.objects, ports: seen.ports, tags: tags, addresses: seen.addresses, missing: seen.missing,
	}
	b.balance(want, next)
	plan.Skips = slices.Concat(r.skips, next.unserved)
	l := &lost{names: b.names, keep: b.keep, have: have, unavailable: kept, ports: seen.ports, next: next}
	l.run(want)
	l.describe(plan)
	c := &comparison{
		names: b.names, have: have, want: next.objects, haveUsage: usageOf(b.names, have), wantUsage: usageOf(b.names, next.objects),
	}
	b.cover(want, next)
	if err := b.settleLimits(r, c, probe); err != nil {
		return err
	}
	if err := c.balancers(seen.balancers, next.balancers); err != nil {
		return err
	}
	return b.compare(plan, c, next, func(p *backends.Plan, created []*tungsten.Object) error {
		for _, o := range created {
			seen.policies[o.UUID] = o
		}
		return b.planSeen(p, want, seen, false)
	})
}
