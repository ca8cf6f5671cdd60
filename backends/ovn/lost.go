package ovn

import (
	"maps"
	"regexp"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// lost is what a full plan would remove for objects that the snapshot does not have. Rows of objects that are kept are
// added to those that are wanted, as they are.
type lost struct {
	keep       map[object.Ref]bool // see Backend
	names      nb.Namer
	ports      portFinder
	want, have nb.Rows
	objects    map[string]map[object.Ref]bool // by kind, all that have rows
	gone       map[object.Ref]bool            // those that lose rows
	kept       map[object.Ref]bool
	rows       map[string]bool // UUIDs of rows of kept objects
	acls       map[string]bool // UUIDs of ACLs that kept policies have, also of those that others want
}

// run compares the rows that are wanted with those that exist, and keeps what has to be kept. Present are the objects
// that the snapshot has.
func (l *lost) run(present map[object.Ref]bool) {
	l.objects, l.gone = map[string]map[object.Ref]bool{}, map[object.Ref]bool{}
	l.kept, l.rows, l.acls = map[object.Ref]bool{}, map[string]bool{}, map[string]bool{}
	l.findRows(present)
	l.findMentioned(present)
	l.findPorts()
	l.keepHairpins()
	l.keepReferents()
	l.keepLoadBalancerGroups()
}

// originsIn returns the objects that a snapshot was made from.
func originsIn(s *intent.Snapshot) map[object.Ref]bool {
	out := map[object.Ref]bool{}
	for p := range s.Policies() {
		out[refOf(p.Origin)] = true
	}
	for lb := range s.LoadBalancers() {
		out[refOf(lb.Origin)] = true
	}
	return out
}

func refOf(o intent.Origin) object.Ref {
	return object.Ref{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// objectOf returns the object that a row names as its source; false if it names none.
func objectOf(h *nb.Row) (object.Ref, bool) {
	ids := h.ExternalIDs()
	return object.Ref{Kind: ids[nb.KeyKind], Namespace: ids[nb.KeyNamespace], Name: ids[nb.KeyName]}, ids[nb.KeyKind] != ""
}

// findRows checks the rows that name their source.
func (l *lost) findRows(present map[object.Ref]bool) {
	for uuid, h := range l.have {
		ref, ok := objectOf(h)
		if !ok {
			continue
		}
		l.count(ref)
		if !present[ref] && l.keep[ref] {
			l.acls[uuid] = true
		}
		if present[ref] || l.want[uuid] != nil {
			continue
		}
		if l.loses(ref) {
			l.want[uuid], l.rows[uuid] = h, true
		}
	}
}

// loses records that something of an object would be deleted, and reports whether it has to be kept.
func (l *lost) loses(ref object.Ref) bool {
	if l.keep[ref] {
		l.kept[ref] = true
		return true
	}
	l.gone[ref] = true
	return false
}

func (l *lost) count(ref object.Ref) {
	if l.objects[ref.Kind] == nil {
		l.objects[ref.Kind] = map[object.Ref]bool{}
	}
	l.objects[ref.Kind][ref] = true
}

// findPorts checks the logical ports that are isolated. One that no longer would be, but is kept or in a group with ACLs of a kept policy, stays in
// each of its groups.
func (l *lost) findPorts() {
	stay := map[string]bool{}
	for _, d := range intent.Directions() {
		governed := l.portsOfKept(d)
		pg := l.have[l.names.UUID(nb.TablePortGroup, string(intent.IsolatedSet(d)))]
		if pg == nil {
			continue
		}
		wanted := l.want[pg.UUID].Set("ports")
		for _, uuid := range pg.Sets["ports"] {
			ref := object.Ref{Kind: backends.KindPort, Name: l.ports.nameOf(uuid)}
			l.count(ref)
			if _, isolated := slices.BinarySearch(wanted, uuid); !isolated && (governed[uuid] && !l.keep[ref] || l.loses(ref)) {
				stay[uuid] = true
				l.keepGroup(pg)
			}
		}
	}
	if len(stay) == 0 {
		return
	}
	for uuid, h := range l.have {
		if w := l.want[uuid]; w != nil && w != h && h.Table == nb.TablePortGroup {
			w.Sets["ports"] = united(w.Sets["ports"], slices.DeleteFunc(slices.Clone(h.Sets["ports"]), func(p string) bool { return !stay[p] }))
		}
	}
}

// portsOfKept returns the ports to which ACLs of kept policies for a direction apply, by UUID.
func (l *lost) portsOfKept(d intent.Direction) map[string]bool {
	out := map[string]bool{}
	if len(l.acls) == 0 {
		return out
	}
	for _, h := range l.have {
		if h.Table == nb.TablePortGroup && slices.ContainsFunc(h.Set(nb.ColumnACLs), func(acl string) bool {
			return l.acls[acl] && l.have[acl] != nil && l.have[acl].ExternalIDs()[nb.KeyDirection] == d.String()
		}) {
			for _, port := range h.Set("ports") {
				out[port] = true
			}
		}
	}
	return out
}

// keepGroup keeps a port group with all of its ACLs, but none of its ports. A wanted group stays as wanted.
func (l *lost) keepGroup(pg *nb.Row) {
	if l.want[pg.UUID] != nil {
		return
	}
	l.want.Put(withSets(pg, map[string][]string{"ports": nil, "acls": pg.Sets["acls"]}))
	for _, acl := range pg.Sets["acls"] {
		if h := l.have[acl]; h != nil && l.want[acl] == nil {
			l.want[acl] = h
		}
	}
}

// keepHairpins keeps the ACLs by which isolated pods reach themselves, while load balancers are kept.
func (l *lost) keepHairpins() {
	some := false
	for uuid := range l.rows {
		some = some || l.have[uuid].Table == nb.TableLoadBalancer
	}
	if !some || l.want[l.names.UUID(nb.TablePortGroup, string(intent.IsolatedIngress))] == nil {
		return
	}
	isolated := l.names.PortGroup(intent.IsolatedIngress)
	for uuid, h := range l.have {
		if h.Table == nb.TableACL && l.want[uuid] == nil && isHairpin(h, isolated) {
			l.want[uuid] = h
		}
	}
}

// symbol is a port group or an address set in a match.
var symbol = regexp.MustCompile(`[@$]([A-Za-z_.][A-Za-z_.0-9]*)`)

// keepReferents keeps the rows that kept rows refer to, and their port groups.
func (l *lost) keepReferents() {
	named := map[string]bool{}
	for uuid, w := range l.want {
		if w != l.have[uuid] || w.Table != nb.TableACL {
			continue
		}
		for _, m := range symbol.FindAllStringSubmatch(w.Match(), -1) {
			named[m[1]] = true
		}
		if meter, _ := w.Fields["meter"].(string); meter != "" {
			named[meter] = true
		}
	}
	for uuid, h := range l.have {
		switch {
		case h.Table == nb.TablePortGroup:
			l.keepMembers(h)
		case l.want[uuid] == nil && named[h.Name] && h.Name != "":
			l.want[uuid] = h
		}
		for _, band := range h.Sets["bands"] {
			if l.want[uuid] == h && l.have[band] != nil && l.want[band] == nil {
				l.want[band] = l.have[band]
			}
		}
	}
}

// keepMembers keeps ACLs in their port group, and the group with them.
func (l *lost) keepMembers(h *nb.Row) {
	var acls []string
	for _, acl := range h.Sets["acls"] {
		if w := l.want[acl]; w != nil && w == l.have[acl] {
			acls = append(acls, acl)
		}
	}
	if len(acls) == 0 {
		return
	}
	acls = united(acls, l.keepExempt(h))
	if w := l.want[h.UUID]; w != nil {
		w.Sets["acls"] = united(w.Sets["acls"], acls)
		return
	}
	l.want.Put(withSets(h, map[string][]string{"ports": h.Sets["ports"], "acls": acls}))
}

// keepExempt keeps the ACLs of a group that have no object: they exempt traffic that no policy covers, such as neighbor resolution, from
// its other ACLs. It returns those that it adds.
func (l *lost) keepExempt(h *nb.Row) []string {
	var added []string
	for _, uuid := range h.Sets["acls"] {
		acl := l.have[uuid]
		if acl == nil || l.want[uuid] != nil {
			continue
		}
		if _, some := objectOf(acl); !some {
			l.want[uuid] = acl
			added = append(added, uuid)
		}
	}
	return added
}

// keepLoadBalancerGroups keeps load balancers in their groups.
func (l *lost) keepLoadBalancerGroups() {
	for uuid, h := range l.have {
		if h.Table != nb.TableLoadBalancerGroup {
			continue
		}
		members := slices.DeleteFunc(slices.Clone(h.Sets[nb.ColumnLoadBalancer]), func(lb string) bool { return !l.rows[lb] })
		if len(members) == 0 {
			continue
		}
		l.rows[uuid] = true
		if w := l.want[uuid]; w != nil {
			w.Sets[nb.ColumnLoadBalancer] = united(w.Sets[nb.ColumnLoadBalancer], members)
			continue
		}
		l.want.Put(withSets(h, map[string][]string{nb.ColumnLoadBalancer: members}))
	}
}

// withoutLoss drops from ops on rows of others the removal of references to rows that are kept, and of template
// variables, which kept load balancers may need.
func (l *lost) withoutLoss(ops []*nb.Op) []*nb.Op {
	if len(l.rows) == 0 {
		return ops
	}
	var out []*nb.Op
	for _, o := range ops {
		switch o.Table {
		case nb.TableTemplateVars:
			if o.Verb == backends.Delete || o.Verb == backends.Mutate && o.After == nil {
				continue
			}
		case nb.TableSwitch, nb.TableRouter:
			o = l.withoutReferences(o)
			if o.Before == nil && o.After == nil {
				continue
			}
		}
		out = append(out, o)
	}
	return out
}

// withoutReferences returns a mutation of a row of others without the removal of references to rows that are kept.
func (l *lost) withoutReferences(o *nb.Op) *nb.Op {
	for column, value := range o.Before {
		remove, _ := value.([]string)
		add, _ := o.After[column].([]string)
		left := slices.DeleteFunc(slices.Clone(remove), func(uuid string) bool { return l.rows[uuid] })
		if len(left) < len(remove) {
			return nb.Mutate(&nb.Row{Table: o.Table, UUID: o.UUID, Name: o.Name, Origin: o.Origin}, column, add, left)
		}
	}
	return o
}

// describe lists in a plan what it removes and what it keeps.
func (l *lost) describe(p *backends.Plan) {
	p.Objects = make(map[string]int, len(l.objects))
	for kind, all := range l.objects {
		p.Objects[kind] = len(all)
	}
	p.Lost = slices.SortedFunc(maps.Keys(l.gone), object.Ref.Compare)
	p.Kept = slices.SortedFunc(maps.Keys(l.kept), object.Ref.Compare)
}

// withSets returns a row with other sets. A port group is its own unit.
func withSets(h *nb.Row, sets map[string][]string) *nb.Row {
	out := *h
	out.Sets = sets
	if h.Table == nb.TablePortGroup {
		out.Unit = h.Name
	}
	return &out
}

// united returns the values of either list, sorted.
func united(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
