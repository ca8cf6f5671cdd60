package ovn

import (
	"context"
	"maps"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/lb"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// fullPlan is what a plan from read-back compares: what the database has of ours, and what it is to have.
type fullPlan struct {
	db            *database
	r             *renderer
	next          *model       // what the database has once the plan is applied
	loadBalancers *lb.FullPlan // nil while load balancers are unavailable
	want, have    nb.Rows
	taken         []string // names of wanted rows that rows of others have
}

// planAll plans from a read-back of everything that is ours. What others do from now on is recorded.
func (b *Backend) planAll(ctx context.Context, want *intent.Snapshot, why backends.ReadBack) (*proposal, error) {
	f, err := b.readBack(ctx, want)
	for err == nil && len(f.taken) > 0 {
		b.rename(f.taken)
		f, err = b.readBack(ctx, want)
	}
	if err != nil {
		return nil, err
	}
	next := f.next
	(&portKeeper{guard: b.guard, names: b.names, want: want, next: next, rows: f.want, have: f.have}).run()
	b.publish(next.coverage.now, next.coverage.asRead(b.names, next, f.want, f.have))

	plan := &backends.Plan{Revision: want.Revision(), Full: true, ReadBack: why, Owned: len(f.have)}
	ops, err := f.compareLoadBalancers(ctx, plan)
	if err != nil {
		return nil, err
	}
	names := nb.Names(f.have, f.want)
	rendered := make(map[string]bool, len(f.want))
	for uuid := range f.want {
		rendered[uuid] = len(b.keep) > 0
	}
	lost := &lost{keep: b.keep, names: b.names, ports: next.ports, want: f.want, have: f.have}
	lost.run(originsIn(want))
	lost.describe(plan)
	next.keptRows = keepRows(b.keep, rendered, f.want)
	ops = append(lost.withoutLoss(ops), nb.Diff(f.want, f.have)...)
	plan.Skips = append(plan.Skips, f.r.skips...)
	return &proposal{plan: plan, ops: ops, ports: next.ports, names: names, commit: func() {
		b.model = next
		b.publish(next.coverage.now, next.coverage.now)
	}}, nil
}

// readBack renders everything that is wanted, and reads what the database has of it.
func (b *Backend) readBack(ctx context.Context, want *intent.Snapshot) (*fullPlan, error) {
	f := &fullPlan{next: newModel(b.ports)}
	f.next.snapshot, f.next.epoch = want, b.client.Epoch()
	f.db = b.database()
	if err := b.watch.begin(ctx); err != nil {
		return nil, err
	}
	var err error
	if isUnavailable(want) {
		f.next.unavailable, err = readUnavailable(ctx, f.db, b.loadBalancers.target(f.db))
	} else {
		f.loadBalancers, err = b.loadBalancers.planAll(ctx, f.db, want)
	}
	if err != nil {
		return nil, err
	}
	if b.dropsByDefault, err = f.db.dropsByDefault(ctx); err != nil {
		return nil, err
	}
	f.r = b.renderer(want, f.db.schema, f.next.unavailable)
	f.want = f.next.render(f.r)
	if f.loadBalancers != nil {
		maps.Copy(f.want, f.loadBalancers.ACLs())
	}
	f.have, f.taken, err = f.db.readOwned(ctx, f.want, b.adopt)
	return f, err
}

// compareLoadBalancers adds the rows of load balancers to those that are compared row by row, and returns the ops for what is not: our part
// of rows of others. While load balancers are unavailable, nothing of theirs is compared.
func (f *fullPlan) compareLoadBalancers(ctx context.Context, plan *backends.Plan) ([]*nb.Op, error) {
	if u := f.next.unavailable; u != nil {
		plan.Owned += u.rows
		maps.DeleteFunc(f.have, func(uuid string, _ *nb.Row) bool { return u.sources[uuid] != nil })
		return nil, nil
	}
	lbs := f.loadBalancers
	if err := readReferences(ctx, f.db, lbs, f.have); err != nil {
		return nil, err
	}
	plan.Owned += lbs.Owned()
	plan.Skips = lbs.Skips
	ops := lbs.Compare(f.want, f.have)
	f.next.loadBalancers = lbs.Model()
	return ops, nil
}
