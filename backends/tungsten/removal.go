package tungsten

import (
	"context"
	"fmt"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// PlanRemoval implements backends.Remover: an empty snapshot leaves the policy sets of both directions, for the interfaces to come. It
// takes the owner's tags from every interface, also from those that are of no pod of the cluster.
func (b *Backend) PlanRemoval(ctx context.Context) (*backends.Plan, error) {
	b.model, b.pending, b.asked = nil, nil, false
	seen, err := b.observe(ctx)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	for _, p := range seen.strays {
		seen.ports.put(p)
	}
	want := intent.NewSnapshot()
	plan := &backends.Plan{Revision: want.Revision(), Full: true, Owned: len(seen.policies) + len(seen.balancers)}
	none := map[string]*tungsten.Object{}
	next := &model{
		snapshot: want, objects: none, balancers: none, tags: wanted{}, ports: seen.ports, addresses: seen.addresses, missing: seen.missing,
		rendering: newRendering(b.names, b.local, want, limits{}, servicesOf(want, nil)),
	}
	c := &comparison{names: b.names, have: seen.policies, want: none, haveUsage: usageOf(b.names, seen.policies), wantUsage: usage{}}
	if err := c.balancers(seen.balancers, none); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if err := b.compare(plan, c, next, nil); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return plan, nil
}
