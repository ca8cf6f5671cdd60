package ovn

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// chassis is a node as OVN knows it.
type chassis struct {
	name string
	node *intent.Node
}

// templates says whether the database can hold values that differ by chassis.
func (r *renderer) templates() bool {
	return r.schema.HasColumn(nb.TableTemplateVars, nb.ColumnVariables)
}

// chassis lists the nodes by the names of their chassis, each name once.
func (r *renderer) chassis() []chassis {
	if r.nodes == nil {
		r.nodes = []chassis{}
		for n := range r.want.Nodes() {
			r.nodes = append(r.nodes, chassis{cmp.Or(n.SystemID, n.Name), n})
		}
		slices.SortStableFunc(r.nodes, func(a, b chassis) int { return cmp.Compare(a.name, b.name) })
		r.nodes = slices.CompactFunc(r.nodes, func(a, b chassis) bool { return a.name == b.name })
	}
	return r.nodes
}

// pool is the backends of frontends that share a variable.
type pool struct {
	backends []intent.Backend
	locality intent.Locality
	variable string
}

// pool is the variable that holds, on each chassis, the backends for clients there. Frontends of equal backends share it:
// a node port has as many frontends as there are nodes.
func (w *balancerWriter) pool(f *intent.Frontend, inside bool) string {
	id := fmt.Sprintf("%s|%s/%d|%s|%s|inside=%t", w.lb.ID, f.Protocol, f.Port, f.Kind, nb.FamilyName(intent.FamilyOf(f.Addr)), inside)
	for _, p := range w.pools[id] {
		if p.locality == f.Locality && sameBackends(p.backends, f.Backends) {
			return p.variable
		}
	}
	p := pool{f.Backends, f.Locality, w.names.Variable(fmt.Sprintf("%s#%d", id, len(w.pools[id])))}
	w.pools[id] = append(w.pools[id], p)
	for _, c := range w.chassis() {
		w.set(c.name, p.variable, w.value(f, f.Choose(c.node, inside)))
	}
	return p.variable
}

func sameBackends(a, b []intent.Backend) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || reflect.DeepEqual(a, b)
}

// templateVIP is the key of a frontend in a row with variables. There OVN reads no literal address of IPv6.
func (w *balancerWriter) templateVIP(f *intent.Frontend) string {
	if f.Addr.Is4() {
		return netip.AddrPortFrom(f.Addr, f.Port).String()
	}
	name := w.names.Variable(fmt.Sprintf("%s|address|%s", w.lb.ID, f.Addr))
	for _, c := range w.chassis() {
		w.set(c.name, name, f.Addr.String())
	}
	return fmt.Sprintf("^%s:%d", name, f.Port)
}

// set gives a variable its value on a chassis.
func (w *balancerWriter) set(chassis, variable, value string) {
	if w.vars == nil {
		w.vars = map[string]map[string]string{}
	}
	if w.vars[chassis] == nil {
		w.vars[chassis] = map[string]string{}
	}
	w.vars[chassis][variable] = value
}

// templateVars is the row of a chassis with variables of ours. Where another has made one, uuid is that row's: a chassis
// has one row. "" is a row of our own.
func (r *renderer) templateVars(chassis, uuid string, vars map[string]string) *nb.Row {
	out := &nb.Row{
		Table: nb.TableTemplateVars, UUID: uuid, Name: chassis, Origin: "backends by node",
		Fields: backends.Fields{}, Maps: map[string]map[string]string{nb.ColumnVariables: vars},
	}
	if uuid != "" {
		return out
	}
	out.UUID = r.names.UUID(nb.TableTemplateVars, chassis)
	ids := map[string]string{nb.KeyOwner: r.names.Owner, nb.KeyID: "chassis/" + chassis, nb.KeyTitle: out.Origin}
	out.Fields = backends.Fields{"chassis": chassis, "external_ids": ids}
	nb.Restrict(r.schema, nb.TableTemplateVars, out.Fields)
	return out
}

// varsAfter are the template variables that a chassis will have.
func (p *rebalance) varsAfter(chassis string) map[string]string {
	out := maps.Clone(p.m.vars[chassis])
	if out == nil {
		out = map[string]string{}
	}
	for name := range p.cut[chassis] {
		delete(out, name)
	}
	maps.Copy(out, p.put[chassis])
	return out
}

// varsStanding is how many template variables a chassis will have.
func (p *rebalance) varsStanding(chassis string) int {
	stood := p.m.vars[chassis]
	n := len(stood)
	for name := range p.cut[chassis] {
		_, was := stood[name]
		if _, stays := p.put[chassis][name]; was && !stays {
			n--
		}
	}
	for name := range p.put[chassis] {
		if _, was := stood[name]; !was {
			n++
		}
	}
	return n
}

// changedChassis are those some of whose template variables come or go.
func (p *rebalance) changedChassis() map[string]bool {
	out := map[string]bool{}
	for _, m := range []map[string]map[string]string{p.put, p.cut} {
		for chassis, vars := range m {
			if len(vars) > 0 {
				out[chassis] = true
			}
		}
	}
	return out
}

// varOps changes the template variables of chassis. What else a chassis has it looks at only where that comes or goes.
func (p *rebalance) varOps() []*nb.Op {
	var ops []*nb.Op
	for chassis := range p.changedChassis() {
		uuid := p.chassis[chassis]
		stood, stands := len(p.m.vars[chassis]) > 0, p.varsStanding(chassis) > 0
		switch {
		case uuid != "" || stood && stands:
			vars := p.r.templateVars(chassis, uuid, nil)
			ops = append(ops, nb.MutatePairs(vars, nb.ColumnVariables, p.put[chassis], p.cut[chassis]))
		case stood:
			gone := p.r.templateVars(chassis, "", maps.Clone(p.m.vars[chassis]))
			ops = append(append(ops, leaveVars(gone)...), deleteUnused(gone))
		case p.found[chassis] != nil:
			ops = append(ops, nb.Change(p.r.templateVars(chassis, "", p.varsAfter(chassis)), p.found[chassis])...)
		default:
			ops = append(ops, nb.Create(p.r.templateVars(chassis, "", p.varsAfter(chassis))))
		}
	}
	return ops
}

// comesUp says whether some chassis gets its first variables. Then it matters whether others have made its row meanwhile.
func (p *rebalance) comesUp() bool {
	for chassis := range p.changedChassis() {
		if p.chassis[chassis] == "" && len(p.m.vars[chassis]) == 0 {
			return true
		}
	}
	return false
}

// leaveVars takes what is ours out of a row that may be others' as well.
func leaveVars(h *nb.Row) []*nb.Op {
	var ops []*nb.Op
	if vars := h.Maps[nb.ColumnVariables]; len(vars) > 0 {
		ops = append(ops, nb.MutatePairs(h, nb.ColumnVariables, nil, vars))
	}
	ids := h.ExternalIDs()
	marks := map[string]string{}
	for _, key := range []string{nb.KeyOwner, nb.KeyID, nb.KeyTitle} {
		if value, ok := ids[key]; ok {
			marks[key] = value
		}
	}
	if len(marks) > 0 {
		ops = append(ops, nb.MutatePairs(h, "external_ids", nil, marks))
	}
	return ops
}

// deleteUnused removes a row of template variables if it holds none any more: others may have written into it.
func deleteUnused(h *nb.Row) *nb.Op {
	o := nb.Delete(h)
	o.Unused = true
	return o
}
