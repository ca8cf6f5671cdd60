package lb

import (
	"maps"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// FullPlan plans all load balancers and compares them with what was read back.
type FullPlan struct {
	*Plan
	found *Found
}

// NeedsLinks reports whether links are needed to place the load balancers of a snapshot.
func (t *Target) NeedsLinks(want *intent.Snapshot) bool {
	for lb := range want.LoadBalancers() {
		if t.needsLinks(lb) {
			return true
		}
	}
	return false
}

// PlanAll renders all load balancers.
func (t *Target) PlanAll(want *intent.Snapshot, found *Found, top *Topology) *FullPlan {
	r := newRenderer(t, want, top)
	ids, derived := map[intent.LoadBalancerID]bool{}, map[string]bool{}
	unmarked := found.hasDerived()
	for lb := range want.LoadBalancers() {
		ids[lb.ID] = true
		if unmarked {
			for uuid := range r.render(lb).rows {
				derived[uuid] = true
			}
		}
	}
	m := newModel(groups{Target: t, taken: found.groups})
	m.foreign, m.chassis = found.adopt(t.Names.Owner, derived), found.chassis
	r.foreign = m.foreign
	return &FullPlan{newPlan(r, m, ids), found}
}

// ACLs returns those that deny sources.
func (p *FullPlan) ACLs() nb.Rows { return p.attachments.acls }

// Owned counts the rows that are ours, except ACLs.
func (p *FullPlan) Owned() int {
	rows, _ := p.found.Owned()
	return rows
}

// NeedsReferences reports whether switches and routers can refer to our rows, so that their rows have to be read.
// Others are our rows in nb.PolicyTables.
func (p *FullPlan) NeedsReferences(others nb.Rows) bool {
	if len(p.found.ours)+len(p.references) > 0 {
		return true
	}
	for _, r := range others {
		if r.ExternalIDs()[nb.KeyRule] == SourceRanges {
			return true
		}
	}
	return false
}

// SetReferences passes the rows of switches and routers.
func (p *FullPlan) SetReferences(rows []*nb.Row, others nb.Rows) {
	p.found.keepReferences(rows, func(uuid string) bool { return others[uuid] != nil || p.found.ours[uuid] != nil })
}

// Compare adds the rows that are wanted and those that exist to want and have, and returns the ops for what is not compared
// row by row: our part of rows of others.
func (p *FullPlan) Compare(want, have nb.Rows) []*nb.Op {
	maps.Copy(want, p.want)
	for at := range p.places() {
		if p.m.grouped(at) {
			want.Put(p.m.group(at, p.after(at)))
		}
	}
	shared := nb.Rows{}
	for chassis := range p.chassis() {
		uuid := p.others[chassis]
		vars := p.m.templateVars(chassis, uuid, p.varsAfter(chassis))
		if uuid == "" {
			want.Put(vars)
		} else {
			shared.Put(vars)
		}
	}
	var ops []*nb.Op
	for uuid, h := range p.found.shared {
		w := shared[uuid]
		if w == nil {
			w = p.m.templateVars(h.Name, uuid, map[string]string{})
		}
		ops = append(ops, nb.Change(w, h)...)
	}
	for uuid, h := range p.found.ours {
		switch {
		case h.Table != nb.TableTemplateVars || want[uuid] != nil:
			have.Put(h)
		case !othersOnly(h):
			ops = append(ops, removeVars(h)...)
		}
	}
	return append(ops, diffReferences(p.references, p.found.references)...)
}

// Model returns what the database has once the plan is applied.
func (p *FullPlan) Model() *Model {
	p.Commit()
	return p.m
}
