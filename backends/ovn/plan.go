package ovn

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/lb"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// Plan implements backends.Backend.
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
	var plan *backends.Plan
	var err error
	var skips []backends.Skip
	if !hasTiers(b.client.Schema()) {
		want = b.lowering.Next(want)
		skips = overflows(b.lowering)
	}
	changes, readBack := b.changesSince(want, since)
	if readBack == "" {
		plan, err = b.planChanges(ctx, want, changes)
	} else {
		plan, err = b.planAll(ctx, want, readBack)
	}
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	plan.Skips = append(plan.Skips, skips...)
	return plan, nil
}

// overflows reports the rules that would pass too much for a target without tiers.
func overflows(l *intent.Lowering) []backends.Skip {
	var out []backends.Skip
	for _, o := range l.Overflows() {
		out = append(out, backends.Skip{Intent: string(o.Policy), Reason: fmt.Sprintf(
			"%s: without ACL tiers, what cluster-wide policies pass needs more than %d rules; this rule denies instead", o.Path, intent.MaxRaised)})
	}
	return out
}

// changesSince lists the changes to handle. It returns a reason if everything has to be read back instead.
func (b *Backend) changesSince(want *intent.Snapshot, since intent.Revision) ([]intent.Change, backends.ReadBack) {
	m := b.model
	switch {
	case since == 0 || m == nil || m.snapshot.Revision() != since:
		return nil, backends.ReadBackLost
	case len(b.keep) > 0:
		return nil, backends.ReadBackKept
	case m.epoch != b.client.Epoch():
		return nil, backends.ReadBackReconnect
	case (m.unavailable != nil) != isUnavailable(want):
		return nil, backends.ReadBackUnavailable
	case b.ports.names.key != "" && len(b.moved) > 0:
		return nil, backends.ReadBackPorts // the ports' external_ids do not show whose they were
	case m.memberships.renamedAway(b.moved, b.client):
		return nil, backends.ReadBackPorts // which of such ports stay in their groups depends on all of them together: see portKeeper
	}
	changes := want.ChangesFrom(m.snapshot)
	for _, c := range changes {
		if c.Families {
			return nil, backends.ReadBackFamilies
		}
		if slices.ContainsFunc(c.Sets, func(id intent.SetID) bool { return m.refersTo(id) && hasOwnMembers(want.Set(id)) }) {
			return nil, backends.ReadBackLost // the translator never changes the prefixes of a set
		}
	}
	return changes, ""
}

// hasOwnMembers reports whether a set exists and is not composite. Rules with parts name the sets of the parts, so no row refers to a
// composite set.
func hasOwnMembers(set *intent.Set) bool { return set != nil && set.UnionOf == nil }

func (b *Backend) renderer(want *intent.Snapshot, schema ovsdb.Schema, u *unavailable) *renderer {
	return &renderer{
		names: b.names, want: want, rate: b.rate, schema: schema, hairpins: b.loadBalancers.settings.Hairpin, unavailable: u,
	}
}

// planAll reads back everything, renders everything and compares. What others do from now on is recorded.
func (b *Backend) planAll(ctx context.Context, want *intent.Snapshot, why backends.ReadBack) (*backends.Plan, error) {
	next := newModel(b.ports)
	next.snapshot, next.epoch = want, b.client.Epoch()
	db := b.database()
	if err := b.watch.begin(ctx); err != nil {
		return nil, err
	}
	var lbs *lb.FullPlan
	var err error
	if isUnavailable(want) {
		next.unavailable, err = readUnavailable(ctx, db, b.loadBalancers.target(db))
	} else {
		lbs, err = b.loadBalancers.planAll(ctx, db, want)
	}
	if err != nil {
		return nil, err
	}
	r := b.renderer(want, db.schema, next.unavailable)
	rows := next.render(r)
	if lbs != nil {
		maps.Copy(rows, lbs.ACLs())
	}
	have, taken, err := db.readOwned(ctx, rows, b.adopt)
	if err != nil {
		return nil, err
	}
	if len(taken) > 0 {
		b.rename(taken)
		return b.planAll(ctx, want, why)
	}
	(&portKeeper{guard: b.guard, names: b.names, want: want, next: next, rows: rows, have: have}).run()
	b.publish(next.coverage.now, next.coverage.asRead(b.names, next, rows, have))

	plan := &backends.Plan{Revision: want.Revision(), Full: true, ReadBack: why, Owned: len(have)}
	var ops []*nb.Op
	if lbs != nil {
		if err := readReferences(ctx, db, lbs, have); err != nil {
			return nil, err
		}
		plan.Owned += lbs.Owned()
		plan.Skips = lbs.Skips
		ops = lbs.Compare(rows, have)
		next.loadBalancers = lbs.Model()
	} else {
		plan.Owned += next.unavailable.rows
		maps.DeleteFunc(have, func(uuid string, _ *nb.Row) bool { return next.unavailable.sources[uuid] != nil })
	}
	named := nb.Names(have, rows)
	lost := &lost{keep: b.keep, names: b.names, ports: next.ports, want: rows, have: have}
	lost.run(originsIn(want))
	lost.describe(plan)
	ops = append(lost.withoutLoss(ops), nb.Diff(rows, have)...)
	plan.Skips = append(plan.Skips, r.skips...)
	return b.propose(plan, ops, next.ports, named, func() {
		b.model = next
		b.publish(next.coverage.now, next.coverage.now)
	}), nil
}

// planChanges plans only from changes.
func (b *Backend) planChanges(ctx context.Context, want *intent.Snapshot, changes []intent.Change) (*backends.Plan, error) {
	m, db := b.model, b.database()
	var lbs *lb.Plan
	var err error
	if m.unavailable == nil {
		if lbs, err = b.loadBalancers.plan(ctx, db, want, m.loadBalancers, changes); err != nil {
			return nil, err
		}
	}
	r := b.renderer(want, db.schema, m.unavailable)
	p := planChanges(r, m, changes, b.moved)
	covered := m.coverage.step(want, changes, m.movedEndpoints(b.moved), m.ports)
	b.publish(covered.now, covered.now)

	plan := &backends.Plan{Revision: want.Revision(), Owned: m.size()}
	ops := p.ops
	var named map[string]string
	if lbs != nil {
		plan.Skips, named = lbs.Skips, lbs.Names()
		ops = append(ops, lbs.Ops()...)
	}
	plan.Skips = append(plan.Skips, r.skips...)
	return b.propose(plan, ops, m.ports, named, func() {
		p.commit()
		if lbs != nil {
			lbs.Commit()
		}
		m.coverage.commit(covered, m.ports)
	}), nil
}

// propose completes a plan with ops, and remembers its effect on the model. A plan without ops needs no Apply: it takes
// effect at once.
func (b *Backend) propose(
	plan *backends.Plan, ops []*nb.Op, ports portFinder, names map[string]string, commit func(),
) *backends.Plan {
	nb.Sort(ops)
	plan.Ops = show(arrange(ops, plan.Full && plan.Owned == 0), ports, names)
	b.pending = &pending{plan: plan, commit: func() {
		commit()
		b.moved = map[string][]string{} // nothing was added since, as another plan would have replaced this one
	}}
	if plan.Empty() {
		b.pending.commit()
		b.pending = nil
	}
	return plan
}
