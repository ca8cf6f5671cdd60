package ovn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// rebalance is what becomes of load balancers in one plan. It changes nothing before commit.
type rebalance struct {
	r *renderer
	m *balances // what stands

	chassis map[string]string // others' rows of template variables
	found   nb.Rows           // and rows of ours, by chassis, that were there before they were wanted

	rendered     map[intent.LoadBalancerID]*balancer // nil where nothing is any more
	joined, left map[place]map[string]bool           // rows that come to a place and go from it, by UUID
	put, cut     map[string]map[string]string        // template variables that come and go, by chassis
	hosts        nb.Rows                             // what switches and routers are to refer to
	bars         nb.Rows                             // the ACLs that they then have
	homeless     map[place]bool                      // places with rows that no switch and no router is in
	attached     bool                                // hosts and bars were worked out anew
}

func newRebalance(r *renderer, m *balances) *rebalance {
	r.foreign, r.taken = m.foreign, m.taken
	return &rebalance{
		r: r, m: m, chassis: m.chassis,
		rendered: map[intent.LoadBalancerID]*balancer{},
		joined:   map[place]map[string]bool{}, left: map[place]map[string]bool{},
		put: map[string]map[string]string{}, cut: map[string]map[string]string{},
		hosts: m.hosts, bars: m.bars, homeless: m.homeless,
	}
}

// render renders load balancers anew and collects what that changes.
func (p *rebalance) render(ids map[intent.LoadBalancerID]bool) {
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		next := p.r.balancer(p.r.want.LoadBalancer(id))
		p.rendered[id] = next
		was := p.m.balancers[id]
		if was == nil {
			was = &balancer{}
		}
		if next == nil {
			next = &balancer{}
		}
		for uuid, lb := range next.rows {
			if old, stays := was.rows[uuid]; !stays || old.at != lb.at {
				within(p.joined, lb.at)[uuid] = true
			}
		}
		for uuid, lb := range was.rows {
			if now, stays := next.rows[uuid]; !stays || now.at != lb.at {
				within(p.left, lb.at)[uuid] = true
			}
		}
		for chassis, vars := range next.vars {
			maps.Copy(within(p.put, chassis), nb.Differing(vars, was.vars[chassis]))
		}
		for chassis, vars := range was.vars {
			maps.Copy(within(p.cut, chassis), nb.Differing(vars, next.vars[chassis]))
		}
		p.r.skips = append(p.r.skips, next.skips...)
	}
}

// within is the inner map of a key, made where there is none.
func within[K, L comparable, V any](m map[K]map[L]V, k K) map[L]V {
	if m[k] == nil {
		m[k] = map[L]V{}
	}
	return m[k]
}

// after lists the rows that a place will have, in order.
func (p *rebalance) after(at place) []string {
	out := make([]string, 0, len(p.m.members[at])+len(p.joined[at]))
	for uuid := range p.m.members[at] {
		if !p.left[at][uuid] {
			out = append(out, uuid)
		}
	}
	for uuid := range p.joined[at] {
		out = append(out, uuid)
	}
	slices.Sort(out)
	return out
}

// standing is how many rows a place will have.
func (p *rebalance) standing(at place) int {
	return len(p.m.members[at]) - len(p.left[at]) + len(p.joined[at])
}

// places lists all places that have or will have rows.
func (p *rebalance) places() map[place]bool {
	out := map[place]bool{}
	for at := range p.m.members {
		out[at] = true
	}
	for at := range p.joined {
		out[at] = true
	}
	return out
}

// strand takes note of load balancers that nothing refers to.
func (p *rebalance) strand() {
	for _, id := range slices.Sorted(maps.Keys(p.rendered)) {
		if p.rendered[id] == nil {
			continue
		}
		nodes, everywhere := 0, false
		for _, lb := range p.rendered[id].rows {
			switch {
			case !p.homeless[lb.at]:
			case lb.at.node != "":
				nodes++
			case lb.at.network != "":
				everywhere = true
			}
		}
		skip := func(format string, args ...any) {
			p.r.skips = append(p.r.skips, backends.Skip{Intent: string(id), Reason: fmt.Sprintf(format, args...)})
		}
		if nodes > 0 {
			skip("it is served by node, and %d rows are for nodes without a switch or router of their own", nodes)
		}
		if everywhere {
			skip("network %q has no switch or router for it", p.rendered[id].network)
		}
	}
}

// attach works out what switches and routers are to refer to, where that can have changed.
func (p *rebalance) attach() {
	if !p.moved() {
		return
	}
	p.attached = true
	members := map[place][]string{}
	for at := range p.places() {
		switch n := p.standing(at); {
		case n == 0:
		case p.r.grouped(at):
			members[at] = []string{} // the group stands for them
		default:
			members[at] = p.after(at)
		}
	}
	balancers, barred := map[intent.LoadBalancerID]*balancer{}, map[intent.LoadBalancerID]bool{}
	for id := range p.m.barred {
		balancers[id], barred[id] = p.m.balancers[id], true
	}
	for id, b := range p.rendered {
		balancers[id], barred[id] = b, b != nil && b.barred
	}
	uuids, rows := barsOf(balancers, barred)
	p.hosts, p.homeless = p.r.attachments(members, uuids)
	p.bars = nb.Rows{}
	for uuid := range referred(p.hosts, nb.ColumnACLs) {
		p.bars[uuid] = rows[uuid] // the database keeps no ACL that nothing refers to
	}
}

// moved says whether switches and routers may have to refer to something else than before.
func (p *rebalance) moved() bool {
	if p.r.topology.version != p.m.topology {
		return true
	}
	for _, changed := range []map[place]map[string]bool{p.joined, p.left} {
		for at := range changed {
			stood := len(p.m.members[at]) > 0
			if !p.r.grouped(at) || stood != (p.standing(at) > 0) {
				return true
			}
		}
	}
	for id, b := range p.rendered {
		if p.m.barred[id] || b != nil && b.barred {
			return true
		}
	}
	return false
}

// referred are the UUIDs in a column of hosts.
func referred(hosts nb.Rows, column string) map[string]bool {
	out := map[string]bool{}
	for _, host := range hosts {
		for _, uuid := range host.Sets[column] {
			out[uuid] = true
		}
	}
	return out
}

// ops lists what has to be written.
func (p *rebalance) ops() []*nb.Op {
	want, have := nb.Rows{}, nb.Rows{}
	for id, b := range p.rendered {
		for _, lb := range p.m.rowsOf(id) {
			have.Put(lb.Row)
		}
		if b != nil {
			for _, lb := range b.rows {
				want.Put(lb.Row)
			}
		}
	}
	var attachments []*nb.Op
	if p.attached { // otherwise switches and routers refer to what they did
		stand := p.standingHosts()
		maps.Copy(want, p.bars)
		for uuid := range referred(stand, nb.ColumnACLs) {
			have[uuid] = p.m.bars[uuid]
		}
		attachments = diffAttachments(p.hosts, stand)
	}
	ops := nb.Diff(want, have)
	ops = append(ops, p.groupOps()...)
	ops = append(ops, p.varOps()...)
	ops = append(ops, attachments...)
	return ops
}

// names are what people call the rows of ours that others may refer to, before the plan and after it, by UUID.
func (p *rebalance) names() map[string]string {
	out := map[string]string{}
	for id, b := range p.rendered {
		for uuid, lb := range p.m.rowsOf(id) {
			out[uuid] = lb.Name
		}
		if b != nil {
			for uuid, lb := range b.rows {
				out[uuid] = lb.Name
			}
		}
	}
	if p.attached {
		for _, bars := range []nb.Rows{p.m.bars, p.bars} {
			for uuid, acl := range bars {
				out[uuid] = acl.Name
			}
		}
		for at := range p.places() {
			group := p.r.balancerGroup(at, nil)
			out[group.UUID] = group.Name
		}
	}
	return out
}

func (m *balances) rowsOf(id intent.LoadBalancerID) map[string]placed {
	if b := m.balancers[id]; b != nil {
		return b.rows
	}
	return nil
}

// standingHosts are the hosts so far that are still there. With the others went what referred to rows of ours.
func (p *rebalance) standingHosts() nb.Rows {
	out := nb.Rows{}
	for _, list := range [][]string{uuidsOf(p.r.topology.switches), uuidsOf(p.r.topology.routers)} {
		for _, uuid := range list {
			if host := p.m.hosts[uuid]; host != nil {
				out[uuid] = host
			}
		}
	}
	return out
}

// groupOps changes the members of groups, makes those that got their first and removes those that lost their last.
func (p *rebalance) groupOps() []*nb.Op {
	var ops []*nb.Op
	for at := range p.places() {
		if !p.r.grouped(at) {
			continue
		}
		stood, stands := len(p.m.members[at]) > 0, p.standing(at) > 0
		switch {
		case !stood && stands:
			ops = append(ops, nb.Create(p.r.balancerGroup(at, p.after(at))))
		case stood && !stands:
			ops = append(ops, nb.Delete(p.r.balancerGroup(at, nil)))
		case len(p.joined[at])+len(p.left[at]) > 0:
			ops = append(ops, nb.Mutate(p.r.balancerGroup(at, nil), nb.ColumnLoadBalancer,
				slices.Sorted(maps.Keys(p.joined[at])), slices.Sorted(maps.Keys(p.left[at]))))
		}
	}
	return ops
}

// commit brings the model to where the plan led.
func (p *rebalance) commit() {
	for chassis := range p.changedChassis() {
		vars := within(p.m.vars, chassis)
		for name := range p.cut[chassis] {
			delete(vars, name)
		}
		maps.Copy(vars, p.put[chassis])
		if len(vars) == 0 {
			delete(p.m.vars, chassis)
		}
	}
	for id, b := range p.rendered {
		p.m.put(id, b)
	}
	p.m.chassis = p.chassis
	p.m.move(p.joined, p.left)
	p.m.hosts, p.m.bars, p.m.topology, p.m.homeless = p.hosts, p.bars, p.r.topology.version, p.homeless
}
