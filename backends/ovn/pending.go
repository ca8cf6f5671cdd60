package ovn

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
)

// proposal is what was planned, before its operations are arranged.
type proposal struct {
	plan   *backends.Plan // without ops
	ops    []*nb.Op
	ports  portFinder
	names  map[string]string // of rows that load balancer groups, switches and routers refer to, by UUID
	commit func()            // makes the model what the target has once the plan is applied
}

// propose completes a plan with its operations, and remembers its effect on the model.
func (b *Backend) propose(p *proposal) *backends.Plan {
	nb.Sort(p.ops)
	p.plan.Ops = show(arrange(p.ops, p.plan.Full && p.plan.Owned == 0), p.ports, p.names)
	commit := p.commit
	b.await(p.plan, func() {
		commit()
		b.moved = map[string][]string{} // nothing was added since, as another plan would have replaced this one
	})
	return p.plan
}

// pending is the effect of a plan on the model, once it is applied.
type pending struct {
	plan   *backends.Plan
	commit func()
}

// await remembers what a plan does once it is applied. A plan without ops needs no Apply: it takes effect at once.
func (b *Backend) await(plan *backends.Plan, commit func()) {
	if plan.Empty() {
		b.pending = nil
		commit()
		return
	}
	b.pending = &pending{plan, commit}
}
