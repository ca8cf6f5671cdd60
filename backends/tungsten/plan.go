package tungsten

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// model is what the target has, as of the last plan that was applied completely.
type model struct {
	snapshot  *intent.Snapshot
	rendering *rendering
	objects   map[string]*tungsten.Object // those of rendering, and what is kept
	ports     *ports
	tags      wanted
	selected  map[object.Key]bool // endpoints with an address that policies govern, as of the last plan
	// balancers are the objects of load balancers, by UUID; they depend on addresses.
	balancers map[string]*tungsten.Object
	addresses *addresses
	missing   string // why there are none
	unserved  []backends.Skip
}

// keep adds objects that the target has as well.
func (m *model) keep(left map[string]*tungsten.Object) {
	if len(left) > 0 {
		m.objects = maps.Clone(m.objects)
		maps.Copy(m.objects, left)
	}
}

// pending is the effect of the last plan.
type pending struct {
	plan   *backends.Plan
	commit func()
	// again makes the same plan for a target that has some tags more, with what is known of the target by now.
	again func(p *backends.Plan, created []*tungsten.Object) error
	made  *comparison
	// closesFirst is whether the plan may drop for a moment what both states allow.
	closesFirst bool
}

// Plan implements backends.Backend.
func (b *Backend) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	b.pending = nil
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

// balance renders the load balancers of a model.
func (b *Backend) balance(want *intent.Snapshot, m *model) {
	r := &balancers{names: b.names, network: b.network, missing: m.missing, barred: b.barred, ports: m.ports, addresses: m.addresses}
	if m.missing != "" {
		r.network = nil
	}
	r.render(want)
	m.balancers, m.unserved = r.objects, r.skips
}

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
	c.findBasic()
	c.interfaces(m.ports.of(tags), tags)
	return b.propose(plan, c, next, tags, nil)
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

// compare compares everything.
func (b *Backend) compare(
	plan *backends.Plan, c *comparison, next *model, again func(*backends.Plan, []*tungsten.Object) error,
) error {
	all := next.ports.sorted()
	c.findBasic()
	c.isolatedTags(all, next.tags)
	if err := c.objects(); err != nil {
		return err
	}
	c.interfaces(all, next.tags)
	return b.propose(plan, c, next, nil, again)
}

// propose orders the ops and remembers their effect. Tags are those that changed of next; nil if next has them already.
func (b *Backend) propose(
	plan *backends.Plan, c *comparison, next *model, tags wanted, again func(*backends.Plan, []*tungsten.Object) error,
) error {
	c.next, c.changed = next, tags
	opening := c.opensFirst()
	if err := c.regroups(opening); err != nil {
		return err
	}
	plan.Ops = b.arrange(c.ops, opening)
	b.pending = &pending{plan: plan, closesFirst: !opening, again: again, made: c, commit: func() {
		for _, m := range c.moves {
			if m.gain {
				m.port.tags[m.tag] = true
			} else {
				delete(m.port.tags, m.tag)
			}
		}
		for k, bare := range c.bare {
			if delete(next.rendering.bare, k); bare {
				next.rendering.bare[k] = true
			}
		}
		for k, of := range tags {
			if next.tags[k] = of; len(of) == 0 {
				delete(next.tags, k)
			}
		}
		b.model = next
	}}
	if plan.Empty() {
		b.pending.commit()
		b.pending, b.refused = nil, nil
	}
	return nil
}

// arrange orders ops by phase, each a request of its own.
func (b *Backend) arrange(ops []planned, opening bool) []backends.Op {
	order := closeFirst()
	if opening {
		order = openFirst()
	}
	rank := map[phase]int{}
	for i, p := range order {
		rank[p] = i + 1
	}
	ops = slices.DeleteFunc(ops, func(o planned) bool { return rank[o.phase] == 0 })
	slices.SortStableFunc(ops, func(a, b planned) int {
		return cmp.Or(
			cmp.Compare(rank[a.phase], rank[b.phase]), cmp.Compare(a.op.Kind, b.op.Kind), cmp.Compare(a.op.Name, b.op.Name),
		)
	})
	out := make([]backends.Op, 0, len(ops))
	for i := range ops {
		ops[i].op.Group = i
		if w, ok := ops[i].op.Native.(write); ok {
			w.phase = ops[i].phase
			_, ops[i].op.Again = b.refused[w.key()]
			ops[i].op.Again = ops[i].op.Again || w.probe
			ops[i].op.Native = w
		}
		out = append(out, ops[i].op)
	}
	return out
}
