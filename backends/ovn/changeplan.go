package ovn

import (
	"context"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/lb"
	"github.com/netloom/netloom/pkg/intent"
)

// planChanges plans only from changes: of load balancers, then of policies. The model has to match the target.
func (b *Backend) planChanges(ctx context.Context, want *intent.Snapshot, changes []intent.Change) (*proposal, error) {
	m, db := b.model, b.database()
	var lbs *lb.Plan
	var err error
	if m.unavailable == nil {
		if lbs, err = b.loadBalancers.plan(ctx, db, want, m.loadBalancers, changes); err != nil {
			return nil, err
		}
	}
	r := b.renderer(want, db.schema, m.unavailable)
	policies := planPolicies(r, m, changes, b.moved)
	covered := m.coverage.step(want, changes, m.movedEndpoints(b.moved), m.ports)
	b.publish(covered.now, covered.now)

	plan := &backends.Plan{Revision: want.Revision(), Owned: m.size()}
	ops := policies.ops
	var names map[string]string
	if lbs != nil {
		plan.Skips, names = lbs.Skips, lbs.Names()
		ops = append(ops, lbs.Ops()...)
	}
	plan.Skips = append(plan.Skips, r.skips...)
	return &proposal{plan: plan, ops: ops, ports: m.ports, names: names, commit: func() {
		policies.commit()
		if lbs != nil {
			lbs.Commit()
		}
		m.coverage.commit(covered, m.ports)
	}}, nil
}
