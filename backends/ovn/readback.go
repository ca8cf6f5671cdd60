package ovn

import (
	"context"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

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
	b.seen = nil // nobody tells of a port that leads to another router than before
	if r.topology, err = b.look(ctx, b.needsLinks(r.want, ids, m)); err != nil {
		return nil, err
	}
	known := map[intent.LoadBalancerID]*balancer{}
	if around.derived() {
		for id := range ids {
			known[id] = r.balancer(r.want.LoadBalancer(id))
		}
	}
	m.foreign, m.taken, m.chassis = around.claims(b.names.Owner, known), around.taken, around.chassis
	p := newRebalance(r, m)
	p.render(ids)
	p.attach()
	p.strand()
	return &fullBalance{p, around}, nil
}

// readHosts reads what of ours switches and routers refer to, where they can refer to any. Have are the rows of ours for
// policies.
func (b *Backend) readHosts(ctx context.Context, schema ovsdb.Schema, p *fullBalance, have nb.Rows) error {
	ours := func(uuid string) bool { return have[uuid] != nil || p.around.ours[uuid] != nil }
	some := len(p.around.ours)+len(p.hosts) > 0
	for _, r := range have {
		some = some || r.ExternalIDs()[nb.KeyRule] == sourceRanges
	}
	if !some {
		return nil
	}
	for _, table := range []string{nb.TableSwitch, nb.TableRouter} {
		rows, err := b.read(ctx, schema, table, nil)
		if err != nil {
			return err
		}
		for _, native := range rows {
			r := nb.Decode(table, native)
			found := false
			for column, uuids := range r.Sets {
				r.Sets[column] = slices.DeleteFunc(uuids, func(u string) bool { return !ours(u) })
				found = found || len(r.Sets[column]) > 0
			}
			if found {
				p.around.hosts[r.UUID] = r
			}
		}
	}
	return nil
}

// owned counts the rows for load balancers that are ours.
func (p *fullBalance) owned() int {
	n := 0
	for _, r := range p.around.ours {
		if r.Table != nb.TableTemplateVars || !p.around.abandoned(r) {
			n++
		}
	}
	return n
}

// compare adds what is wanted and what there is of load balancing to want and have, and returns the ops for what is not
// compared row by row: what is ours in rows of others.
func (p *fullBalance) compare(want, have nb.Rows) []*nb.Op {
	for _, b := range p.rendered {
		for _, lb := range b.rows {
			want.Put(lb.Row)
		}
	}
	for at := range p.places() {
		if p.r.grouped(at) {
			want.Put(p.r.balancerGroup(at, p.after(at)))
		}
	}
	shared := nb.Rows{}
	for chassis := range p.changedChassis() {
		uuid := p.chassis[chassis]
		vars := p.r.templateVars(chassis, uuid, p.varsAfter(chassis))
		if uuid == "" {
			want.Put(vars)
			continue
		}
		shared[uuid] = vars
	}
	var ops []*nb.Op
	for uuid, h := range p.around.shared {
		w := shared[uuid]
		if w == nil {
			w = p.r.templateVars(h.Name, uuid, map[string]string{})
		}
		ops = append(ops, nb.Change(w, h)...)
	}
	for uuid, h := range p.around.ours {
		switch {
		case h.Table != nb.TableTemplateVars || want[uuid] != nil:
			have[uuid] = h
		case !p.around.abandoned(h):
			ops = append(append(ops, leaveVars(h)...), deleteUnused(h))
		}
	}
	ops = append(ops, diffAttachments(p.hosts, p.around.hosts)...)
	return ops
}
