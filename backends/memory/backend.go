package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// Backend writes the rows of one owner in a target.
type Backend struct {
	target  *Target
	owner   string
	applied *intent.Snapshot // what the target holds; nil if this backend does not know
	planned *intent.Snapshot // what the last plan was made from

	claim   Claim // the newest claim of this backend; zero before the first
	deposed error // why nothing may be written before the next claim
}

// New returns a backend for the rows of owner in target. It knows nothing of what an earlier backend wrote.
func New(target *Target, owner string) *Backend {
	return &Backend{target: target, owner: owner}
}

// Plan compares want with the target: with every row of the owner when since is zero, otherwise with what changed after
// it. It asks for a full plan if since is not what this backend applied last.
func (b *Backend) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &backends.Plan{Revision: want.Revision(), Full: since == 0}
	b.planned = want
	if p.Full {
		b.planAll(p, want)
		return p, nil
	}
	if b.applied == nil || b.applied.Revision() != since || isUnknown(want) != isUnknown(b.applied) {
		p.Resync = true
		return p, nil
	}
	b.planSome(p, want, touch(b.applied, want, want.ChangesFrom(b.applied)))
	return p, nil
}

func (b *Backend) planAll(p *backends.Plan, want *intent.Snapshot) {
	actual := observe(b.target, b.owner)
	desired := make(map[id]Row)
	for set := range want.Sets() {
		merge(desired, index(renderSet(set)))
	}
	for _, d := range intent.Directions() {
		merge(desired, index(renderIsolation(d, want.Set(intent.IsolatedSet(d)))))
	}
	for policy := range want.Policies() {
		rows, skips := renderPolicy(policy)
		merge(desired, index(rows))
		p.Skips = append(p.Skips, skips...)
	}
	for lb := range want.LoadBalancers() {
		merge(desired, index(renderBalancer(lb, want)))
	}
	p.Owned = len(actual)
	if isUnknown(want) {
		maps.DeleteFunc(actual, func(k id, _ Row) bool { return k.kind == kindBalancer })
		maps.DeleteFunc(desired, func(k id, _ Row) bool { return k.kind == kindBalancer })
	}
	p.Ops = diff(desired, actual, named(actual))
}

// isUnknown reports whether the load balancers of a snapshot are unavailable. If so, their rows stay as they are.
func isUnknown(s *intent.Snapshot) bool { return s.Unknown().Has(intent.AreaBalancers) }

// planSome compares what touched names in the two snapshots. Its skips are those of the policies it compares.
func (b *Backend) planSome(p *backends.Plan, want *intent.Snapshot, t *touched) {
	desired, actual := make(map[id]Row), make(map[id]Row)
	for set := range t.sets {
		merge(desired, index(renderSet(want.Set(set))))
		merge(actual, index(renderSet(b.applied.Set(set))))
	}
	for _, d := range intent.Directions() {
		if set := intent.IsolatedSet(d); t.sets[set] {
			merge(desired, index(renderIsolation(d, want.Set(set))))
			merge(actual, index(renderIsolation(d, b.applied.Set(set))))
		}
	}
	for _, policy := range slices.Sorted(maps.Keys(t.policies)) {
		rows, skips := renderPolicy(want.Policy(policy))
		merge(desired, index(rows))
		p.Skips = append(p.Skips, skips...)
		rows, _ = renderPolicy(b.applied.Policy(policy))
		merge(actual, index(rows))
	}
	for lb := range t.balancers {
		if isUnknown(want) {
			break
		}
		merge(desired, index(renderBalancer(want.LoadBalancer(lb), want)))
		merge(actual, index(renderBalancer(b.applied.LoadBalancer(lb), b.applied)))
	}
	// No row names a set that the applied snapshot does not have, so none is live.
	p.Ops = diff(desired, actual, nil)
	for set, c := range t.churn {
		if op, ok := c.op(set); ok {
			p.Ops = append(p.Ops, op)
		}
	}
	order(p.Ops)
}

// touched is what has to be compared between two snapshots.
type touched struct {
	sets     map[intent.SetID]bool // to be compared completely
	churn    map[intent.SetID]*churn
	policies map[intent.PolicyID]bool

	balancers map[intent.LoadBalancerID]bool
}

// touch sums up changes. A set that existed before and after without being recreated has churn only.
func touch(from, to *intent.Snapshot, changes []intent.Change) *touched {
	t := &touched{
		sets:     make(map[intent.SetID]bool),
		churn:    make(map[intent.SetID]*churn),
		policies: make(map[intent.PolicyID]bool),

		balancers: make(map[intent.LoadBalancerID]bool),
	}
	for _, c := range changes {
		if len(c.Nodes) > 0 { // any load balancer may depend on them
			for lb := range to.LoadBalancers() {
				t.balancers[lb.ID] = true
			}
		}
		for _, lb := range c.LoadBalancers {
			t.balancers[lb] = true
		}
		for _, set := range c.Sets {
			t.sets[set] = true
		}
		for _, policy := range c.Policies {
			t.policies[policy] = true
		}
	}
	for _, c := range changes {
		for _, d := range c.Members {
			if t.sets[d.ID] || from.Set(d.ID) == nil || to.Set(d.ID) == nil {
				continue
			}
			if t.churn[d.ID] == nil {
				t.churn[d.ID] = newChurn()
			}
			t.churn[d.ID].add(d)
		}
	}
	return t
}

// Close does nothing: there is no connection.
func (b *Backend) Close() error { return nil }
