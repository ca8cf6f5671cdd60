package ovn

import (
	"context"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// needsLinks says whether load balancers can only be put where they belong when links are known.
func (b *Backend) needsLinks(want *intent.Snapshot, ids map[intent.LoadBalancerID]bool, m *balances) bool {
	for network := range m.networks {
		if b.balancing.needsLinks(network) {
			return true
		}
	}
	for id := range ids {
		lb := want.LoadBalancer(id)
		if lb != nil && (b.balancing.needsLinks(lb.Network) || denies(lb)) {
			return true
		}
	}
	return len(m.barred) > 0
}

func denies(lb *intent.LoadBalancer) bool {
	return slices.ContainsFunc(lb.Frontends, func(f intent.Frontend) bool { return len(f.Denied) > 0 })
}

// rebalance plans load balancers from changes alone; nil where there is nothing to look at.
func (b *Backend) rebalance(
	ctx context.Context, r *renderer, m *balances, changes []intent.Change,
) (*rebalance, error) {
	ids, nodes := map[intent.LoadBalancerID]bool{}, false
	for i := range changes {
		for _, id := range changes[i].LoadBalancers {
			ids[id] = true
		}
		nodes = nodes || len(changes[i].Nodes) > 0
	}
	if len(ids)+len(m.balancers) == 0 {
		return nil, nil
	}
	if nodes {
		for id := range m.nodal {
			ids[id] = true
		}
	}
	var err error
	if r.topology, err = b.look(ctx, b.needsLinks(r.want, ids, m)); err != nil {
		return nil, err
	}
	moved := r.topology.version != m.topology
	if len(ids) == 0 && !moved {
		return nil, nil
	}
	if moved {
		for id := range m.barred {
			ids[id] = true // whether sources can be kept away may have changed
		}
	}
	p := newRebalance(r, m)
	p.render(ids)
	p.attach()
	p.strand()
	if p.comesUp() {
		return p, b.findVars(ctx, p)
	}
	return p, nil
}

// findVars looks which chassis have rows of template variables now.
func (b *Backend) findVars(ctx context.Context, p *rebalance) error {
	rows, err := b.read(ctx, p.r.schema, nb.TableTemplateVars, nil)
	if err != nil {
		return err
	}
	s := newSurroundings()
	for _, native := range rows {
		s.sort(b.names, nb.Decode(nb.TableTemplateVars, native))
	}
	p.chassis, p.found = s.chassis, nb.Rows{}
	for _, r := range s.ours {
		p.found[r.Name] = r
	}
	return nil
}
