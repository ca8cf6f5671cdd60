package tungsten

import (
	"context"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// planChanges plans from what changed after the last plan that was applied.
func (b *Backend) planChanges(ctx context.Context, plan *backends.Plan, want *intent.Snapshot, since intent.Revision) error {
	m := b.model
	if m == nil || m.snapshot.Revision() != since || len(b.keep) > 0 {
		plan.Resync = true
		return nil
	}
	if b.deaf.Swap(false) {
		if err := b.enforces(ctx); err != nil {
			b.deaf.Store(true)
			return err
		}
	}
	changes := want.ChangesFrom(m.snapshot)
	moved, err := b.reread(ctx, m)
	if err != nil {
		return err
	}
	moved, b.moved = keysOf(append(moved, b.moved...)), nil
	shifted, err := b.readdress(ctx, m)
	if err != nil {
		return err
	}
	plan.Owned = len(m.objects) + len(m.balancers)
	touched, only := m.rendering.onlyMembers(changes)
	balanced := shifted || len(moved) > 0 || slices.ContainsFunc(changes, func(c intent.Change) bool { return len(c.LoadBalancers) > 0 })
	services, same := m.rendering.balanced.next(want, changes)
	if !only || !same {
		return b.rerender(plan, want, m, m.objects, balanced)
	}
	next, c, err := b.follow(want, m, m.objects, balanced)
	if err != nil {
		return err
	}
	plan.Skips = slices.Concat(m.rendering.skips, next.unserved)
	next.rendering = m.rendering.at(want, services)
	tags := make(wanted, len(touched)+len(moved))
	for k, bare := range touched {
		tags[k] = m.rendering.tagsOf(want, k, bare)
	}
	for _, k := range moved {
		if _, known := tags[k]; !known {
			tags[k] = m.tags[k]
		}
	}
	if len(tags) > 0 {
		b.recover(want, next, changes, tags)
	}
	c.bare = touched
	c.live.findBasic(c.names, c.have, c.want)
	c.interfaces(m.ports.of(tags), tags)
	return b.propose(plan, c, next, tags, nil)
}

// rerender renders everything, and compares it with the objects of a target that had m.
func (b *Backend) rerender(plan *backends.Plan, want *intent.Snapshot, m *model, have map[string]*tungsten.Object, balanced bool) error {
	next, c, err := b.follow(want, m, have, balanced)
	if err != nil {
		return err
	}
	next.rendering = render(b.names, b.local, want, b.limitsOf(have), nil)
	next.objects, next.tags = next.rendering.objects, next.rendering.members()
	plan.Skips = slices.Concat(next.rendering.skips, next.unserved)
	c.want, c.wantUsage = next.objects, next.rendering.usage
	b.cover(want, next)
	if err := b.settleLimits(next.rendering, c, false); err != nil {
		return err
	}
	return b.compare(plan, c, next, func(p *backends.Plan, created []*tungsten.Object) error {
		has := maps.Clone(have)
		for _, o := range created {
			has[o.UUID] = o
		}
		return b.rerender(p, want, m, has, balanced)
	})
}

// follow returns a model that follows m, and a comparison of it with the objects of a target, as far as load balancers.
func (b *Backend) follow(want *intent.Snapshot, m *model, have map[string]*tungsten.Object, balanced bool) (*model, *comparison, error) {
	c := &comparison{
		names: b.names, have: have, want: m.objects, haveUsage: m.rendering.usage, wantUsage: m.rendering.usage,
	}
	next := *m
	next.snapshot = want
	if balanced {
		b.balance(want, &next)
		if err := c.balancers(m.balancers, next.balancers); err != nil {
			return nil, nil, err
		}
	}
	return &next, c, nil
}

// keysOf returns keys once each, sorted.
func keysOf(keys []object.Key) []object.Key {
	slices.SortFunc(keys, object.Key.Compare)
	return slices.Compact(keys)
}
