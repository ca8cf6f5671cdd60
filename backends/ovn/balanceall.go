package ovn

import (
	"context"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// look is what load balancers can be put on now. Links between switches and routers are expensive to find.
func (b *Backend) look(ctx context.Context, links bool) (*topology, error) {
	version := b.client.TopologyVersion()
	if t := b.seen; t != nil && t.version == version && (t.linked || !links) {
		return t, nil
	}
	t := &topology{version: version, switches: b.client.Switches(), routers: b.client.Routers(), linked: links}
	if links {
		var err error
		if t.links, err = b.client.Links(ctx); err != nil {
			return nil, err
		}
	}
	b.seen = t
	return t, nil
}

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
	if r.topology.version != m.topology {
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
	rows, err := b.read(ctx, p.r.schema, tableTemplateVars, nil)
	if err != nil {
		return err
	}
	s := newSurroundings()
	for _, native := range rows {
		s.sort(b.names, decode(tableTemplateVars, native))
	}
	p.chassis, p.found = s.chassis, map[string]*row{}
	for _, r := range s.ours {
		p.found[r.name] = r
	}
	return nil
}

// fullBalance is a rebalance from nothing, to be compared with what was read back.
type fullBalance struct {
	*rebalance
	around *surroundings
}

// balanceAll reads back what there is about load balancing, and renders all load balancers. M is empty.
func (b *Backend) balanceAll(ctx context.Context, r *renderer, m *balances) (*fullBalance, error) {
	around, err := b.surround(ctx, r.schema)
	if err != nil {
		return nil, err
	}
	ids := map[intent.LoadBalancerID]bool{}
	for lb := range r.want.LoadBalancers() {
		ids[lb.ID] = true
	}
	if r.topology, err = b.look(ctx, b.needsLinks(r.want, ids, m)); err != nil {
		return nil, err
	}
	known := map[intent.LoadBalancerID]*balancer{}
	if around.derived() {
		for id := range ids {
			known[id] = r.balancer(r.want.LoadBalancer(id))
		}
	}
	m.foreign, m.taken, m.chassis = around.claims(b.names.owner, known), around.taken, around.chassis
	p := newRebalance(r, m)
	p.render(ids)
	p.attach()
	p.strand()
	return &fullBalance{p, around}, nil
}

// readHosts reads what of ours switches and routers refer to, where they can refer to any. Have are the rows of ours for
// policies.
func (b *Backend) readHosts(ctx context.Context, schema ovsdb.Schema, p *fullBalance, have map[string]*row) error {
	ours := func(uuid string) bool { return have[uuid] != nil || p.around.ours[uuid] != nil }
	some := len(p.around.ours)+len(p.hosts) > 0
	for _, r := range have {
		ids, _ := r.fields["external_ids"].(map[string]string)
		some = some || ids[KeyRule] == sourceRanges
	}
	if !some {
		return nil
	}
	for _, table := range []string{tableSwitch, tableRouter} {
		rows, err := b.read(ctx, schema, table, nil)
		if err != nil {
			return err
		}
		for _, native := range rows {
			r := decode(table, native)
			found := false
			for column, uuids := range r.sets {
				r.sets[column] = slices.DeleteFunc(uuids, func(u string) bool { return !ours(u) })
				found = found || len(r.sets[column]) > 0
			}
			if found {
				p.around.hosts[r.uuid] = r
			}
		}
	}
	return nil
}

// owned counts the rows for load balancers that are ours.
func (p *fullBalance) owned() int {
	n := 0
	for _, r := range p.around.ours {
		if r.table != tableTemplateVars || !p.around.abandoned(r) {
			n++
		}
	}
	return n
}

// compare adds what is wanted and what there is of load balancing to want and have, and returns the ops for what is not
// compared row by row: what is ours in rows of others.
func (p *fullBalance) compare(want, have map[string]*row) []backends.Op {
	for _, b := range p.rendered {
		for _, lb := range b.rows {
			put(want, lb.row)
		}
	}
	for at := range p.places() {
		if p.r.grouped(at) {
			put(want, p.r.balancerGroup(at, p.after(at)))
		}
	}
	shared := map[string]*row{}
	for chassis := range p.changedChassis() {
		uuid := p.chassis[chassis]
		vars := p.r.templateVars(chassis, uuid, p.varsAfter(chassis))
		if uuid == "" {
			put(want, vars)
			continue
		}
		shared[uuid] = vars
	}
	var ops []backends.Op
	for uuid, h := range p.around.shared {
		w := shared[uuid]
		if w == nil {
			w = p.r.templateVars(h.name, uuid, map[string]string{})
		}
		ops = append(ops, changeRow(w, h)...)
	}
	for uuid, h := range p.around.ours {
		switch {
		case h.table != tableTemplateVars || want[uuid] != nil:
			have[uuid] = h
		case !p.around.abandoned(h):
			ops = append(append(ops, leaveVars(h)...), deleteUnused(h))
		}
	}
	ops = append(ops, diffAttachments(p.hosts, p.around.hosts)...)
	return ops
}

// names are what people call the rows that others refer to, by UUID.
func names(lists ...map[string]*row) map[string]string {
	out := map[string]string{}
	for _, rows := range lists {
		for uuid, r := range rows {
			out[uuid] = r.name
		}
	}
	return out
}

// showReferences puts names for the UUIDs in references to load balancers in what people read of ops.
func showReferences(ops []backends.Op, names map[string]string) {
	for i := range ops {
		switch ops[i].Kind {
		case tableBalancers, tableSwitch, tableRouter:
		default:
			continue
		}
		for _, fields := range []backends.Fields{ops[i].Before, ops[i].After} {
			for column, value := range fields {
				if uuids, ok := value.([]string); ok {
					fields[column] = named(uuids, names)
				}
			}
		}
	}
}

// named puts names for UUIDs that have one, and sorts.
func named(uuids []string, names map[string]string) []string {
	out := make([]string, len(uuids))
	for i, uuid := range uuids {
		out[i] = uuid
		if name := names[uuid]; name != "" {
			out[i] = name
		}
	}
	slices.Sort(out)
	return out
}
