package lb

import (
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// Plan is a plan for load balancers. It does not change the model before Commit.
type Plan struct {
	Skips []backends.Skip

	*delta
	attachments
	want, have nb.Rows // of Load_Balancer
	topology   *Topology
	attached   bool              // the attachments differ from those of the model
	others     map[string]string // others' rows of template variables, by chassis
	ownVars    nb.Rows           // rows of our template variables that exist, by chassis
}

// newPlan renders some load balancers and compares them with the model.
func newPlan(r *renderer, m *Model, ids map[intent.LoadBalancerID]bool) *Plan {
	p := &Plan{attachments: m.attachments, topology: r.topology, others: m.chassis, want: nb.Rows{}, have: nb.Rows{}}
	next := make(map[intent.LoadBalancerID]*rendering, len(ids))
	sorted := slices.Sorted(maps.Keys(ids))
	for _, id := range sorted {
		for _, lb := range m.rowsOf(id) {
			p.have.Put(lb.Row)
		}
		now := r.render(r.want.LoadBalancer(id))
		if next[id] = now; now == nil {
			continue
		}
		p.Skips = append(p.Skips, now.skips...)
		for _, lb := range now.rows {
			p.want.Put(lb.Row)
		}
	}
	p.delta = diff(m, next)
	if r.topology.Version != m.version || p.moves() {
		p.attached, p.attachments = true, r.attach(p.delta)
	}
	for _, id := range sorted {
		p.skipUnattached(id, next[id])
	}
	return p
}

// skipUnattached reports a load balancer to which no switch and no router refers.
func (p *Plan) skipUnattached(id intent.LoadBalancerID, b *rendering) {
	if b == nil {
		return
	}
	nodes, everywhere := 0, false
	for _, lb := range b.rows {
		switch {
		case !p.unattached[lb.at]:
		case lb.at.node != "":
			nodes++
		case lb.at.network != "":
			everywhere = true
		}
	}
	skip := func(format string, args ...any) {
		p.Skips = append(p.Skips, backends.Skip{Intent: string(id), Reason: fmt.Sprintf(format, args...)})
	}
	if nodes > 0 {
		skip("its backends depend on the node, and %d rows are for nodes without a switch or router of their own", nodes)
	}
	if everywhere {
		skip("network %q has no switch or router for it", b.network)
	}
}

// Affected lists the load balancers that changes concern.
func (m *Model) Affected(changes []intent.Change) map[intent.LoadBalancerID]bool {
	ids := map[intent.LoadBalancerID]bool{}
	for i := range changes {
		for _, id := range changes[i].LoadBalancers {
			ids[id] = true
		}
		if len(changes[i].Nodes) > 0 {
			maps.Copy(ids, m.nodal)
		}
	}
	return ids
}

// NeedsLinks reports whether links are needed to place load balancers. Ids are those to render.
func (m *Model) NeedsLinks(want *intent.Snapshot, ids map[intent.LoadBalancerID]bool) bool {
	for network := range m.networks {
		if m.Settings.needsLinks(network) {
			return true
		}
	}
	for id := range ids {
		if lb := want.LoadBalancer(id); lb != nil && m.needsLinks(lb) {
			return true
		}
	}
	return len(m.restricted) > 0
}

// needsLinks reports whether links are needed to place a load balancer.
func (t *Target) needsLinks(lb *intent.LoadBalancer) bool {
	denies := func(f intent.Frontend) bool { return len(f.Denied) > 0 }
	return t.Settings.needsLinks(lb.Network) || slices.ContainsFunc(lb.Frontends, denies)
}

// Plan plans some load balancers; nil if there is nothing to do.
func (m *Model) Plan(want *intent.Snapshot, top *Topology, ids map[intent.LoadBalancerID]bool) *Plan {
	moved := top.Version != m.version
	if len(ids) == 0 && !moved {
		return nil
	}
	if moved {
		maps.Copy(ids, m.restricted) // whether sources can be denied may have changed
	}
	r := newRenderer(m.Target, want, top)
	r.foreign = m.foreign
	return newPlan(r, m, ids)
}

// NeedsVars reports whether some chassis gets its first variables. Then the rows of template variables have to be read,
// since others may have made one for the chassis.
func (p *Plan) NeedsVars() bool {
	for chassis := range p.chassis() {
		if p.others[chassis] == "" && len(p.m.vars[chassis]) == 0 {
			return true
		}
	}
	return false
}

// SetVars passes the rows of template variables.
func (p *Plan) SetVars(rows []*nb.Row) {
	f := p.m.Find(rows)
	p.others, p.ownVars = f.chassis, nb.Rows{}
	for _, r := range f.ours {
		p.ownVars[r.Name] = r
	}
}

// Ops lists what has to be written.
func (p *Plan) Ops() []*nb.Op {
	ops := slices.Concat(nb.Diff(p.want, p.have), p.groupOps(), p.varOps())
	if p.attached {
		before := p.m.in(p.topology)
		ops = append(ops, nb.Diff(p.attachments.acls, before.acls)...)
		ops = append(ops, diffReferences(p.references, before.references)...)
	}
	return ops
}

// Names returns the display names of our rows that others may refer to, before and after the plan, by UUID.
func (p *Plan) Names() map[string]string {
	if !p.attached {
		return nb.Names(p.have, p.want)
	}
	groups := nb.Rows{}
	for at := range p.places() {
		groups.Put(p.m.group(at, nil))
	}
	return nb.Names(p.have, p.want, p.m.acls, p.attachments.acls, groups)
}

// groupOps changes the members of groups, creates those that got their first and removes those that lost their last.
func (p *Plan) groupOps() []*nb.Op {
	var ops []*nb.Op
	for at := range p.places() {
		if !p.m.grouped(at) {
			continue
		}
		switch before, after := len(p.m.members[at]), p.size(at); {
		case before == 0 && after > 0:
			ops = append(ops, nb.Create(p.m.group(at, p.after(at))))
		case before > 0 && after == 0:
			ops = append(ops, nb.Delete(p.m.group(at, nil)))
		case len(p.joined[at])+len(p.left[at]) > 0:
			ops = append(ops, nb.Mutate(p.m.group(at, nil), nb.ColumnLoadBalancer,
				slices.Sorted(maps.Keys(p.joined[at])), slices.Sorted(maps.Keys(p.left[at]))))
		}
	}
	return ops
}

// varOps changes the template variables of chassis. It looks at the other variables of a chassis only if its row is
// created or removed.
func (p *Plan) varOps() []*nb.Op {
	var ops []*nb.Op
	for chassis := range p.chassis() {
		uuid, had := p.others[chassis], len(p.m.vars[chassis]) > 0
		switch {
		case uuid != "" || had && p.varsLeft(chassis):
			vars := p.m.templateVars(chassis, uuid, nil)
			ops = append(ops, nb.Mutate(vars, nb.ColumnVariables, p.put[chassis], p.cut[chassis]))
		case had:
			ops = append(ops, removeVars(p.m.templateVars(chassis, "", maps.Clone(p.m.vars[chassis])))...)
		case p.ownVars[chassis] != nil:
			ops = append(ops, nb.Change(p.m.templateVars(chassis, "", p.varsAfter(chassis)), p.ownVars[chassis])...)
		default:
			ops = append(ops, nb.Create(p.m.templateVars(chassis, "", p.varsAfter(chassis))))
		}
	}
	return ops
}

// removeVars removes our variables from a row of template variables, and the row if it has no others: others may have
// written into it.
func removeVars(h *nb.Row) []*nb.Op {
	var ops []*nb.Op
	if vars := h.Maps[nb.ColumnVariables]; len(vars) > 0 {
		ops = append(ops, nb.Mutate(h, nb.ColumnVariables, nil, vars))
	}
	marks := map[string]string{}
	for _, key := range []string{nb.KeyOwner, nb.KeyID, nb.KeyTitle} {
		if value, ok := h.ExternalIDs()[key]; ok {
			marks[key] = value
		}
	}
	if len(marks) > 0 {
		ops = append(ops, nb.Mutate(h, nb.ColumnExternalIDs, nil, marks))
	}
	row := nb.Delete(h)
	row.Unused = true
	return append(ops, row)
}

// Commit applies the plan to the model.
func (p *Plan) Commit() {
	p.commit()
	p.m.chassis, p.m.attachments = p.others, p.attachments
}
