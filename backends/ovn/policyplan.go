package ovn

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// policyPlan plans the rows for policies from what changed since the model, which it does not change before commit.
type policyPlan struct {
	r           *renderer
	m           *model
	moved       map[string][]string // names of logical ports, see Backend
	changed     map[intent.PolicyID]bool
	groups      map[intent.SetID]*group      // subjects rendered again; nil if they have no ACLs any more
	sharers     map[intent.SetID]*sharerEdit // of shared groups that stay
	deltas      map[intent.SetID]*delta
	edits       *portEdits
	memberships memberships // of the groups that are new
	ops         []*nb.Op
}

// planPolicies plans what changes of the snapshot and moved logical ports ask for.
func planPolicies(r *renderer, m *model, changes []intent.Change, moved map[string][]string) *policyPlan {
	p := &policyPlan{
		r: r, m: m, moved: moved, changed: map[intent.PolicyID]bool{}, groups: map[intent.SetID]*group{},
		sharers: map[intent.SetID]*sharerEdit{}, deltas: map[intent.SetID]*delta{}, memberships: memberships{},
	}
	p.collect(changes)
	p.planGroups()
	p.planReferents()
	p.edits = p.portEdits()
	p.planMembers()
	return p
}

// collect gathers the changed policies, the subjects that have to be rendered for them, and the net membership changes.
func (p *policyPlan) collect(changes []intent.Change) {
	subjects := map[intent.SetID]bool{}
	for _, c := range changes {
		for _, id := range c.Policies {
			p.changed[id] = true
		}
		for _, id := range c.Sets {
			if slices.Contains(gathered(), id) {
				subjects[id] = true
			}
		}
		for i := range c.Members {
			id := c.Members[i].ID
			if p.deltas[id] == nil {
				p.deltas[id] = newDelta()
			}
			p.deltas[id].add(&c.Members[i])
		}
	}
	for id := range p.changed {
		p.markSubjects(subjects, id)
	}
	p.collectMoved(subjects)
	comesOrGoes := p.m.loadBalancers.Empty() != (p.r.want.LoadBalancerCount() == 0)
	if p.r.unavailable == nil && comesOrGoes && p.r.want.Set(intent.IsolatedIngress) != nil {
		subjects[intent.IsolatedIngress] = true // it has the ACLs by which pods reach themselves through load balancers
	}
	with := p.changedBySubject()
	for s := range subjects {
		p.groups[s] = p.r.group(s, p.m.policiesOf(s, p.r, p.changed, with[s]), p.m.groups[s])
	}
	p.collectShares()
}

// changedBySubject lists the changed policies that are there now, by the subjects that they have.
func (p *policyPlan) changedBySubject() map[intent.SetID][]*intent.Policy {
	out := map[intent.SetID][]*intent.Policy{}
	for id := range p.changed {
		policy := p.r.want.Policy(id)
		if policy == nil {
			continue
		}
		for _, s := range subjectsOf(policy) {
			out[s] = append(out[s], policy)
		}
	}
	return out
}

// markSubjects adds the subjects that a policy had, and those that it has.
func (p *policyPlan) markSubjects(subjects map[intent.SetID]bool, id intent.PolicyID) {
	for _, policy := range []*intent.Policy{p.m.policies[id], p.r.want.Policy(id)} {
		if policy != nil {
			for _, s := range subjectsOf(policy) {
				subjects[s] = true
			}
		}
	}
}

// collectMoved adds the subjects of unchanged policies whose rules have other places now because other policies changed.
func (p *policyPlan) collectMoved(subjects map[intent.SetID]bool) {
	ordered := func(policy *intent.Policy) bool { return policy != nil && policy.Tier.Ordered() }
	some := false
	for id := range p.changed {
		some = some || ordered(p.m.policies[id]) || ordered(p.r.want.Policy(id))
	}
	if !some {
		return
	}
	for id, places := range p.r.places() {
		if !slices.Equal(places, p.m.places[id]) {
			p.markSubjects(subjects, id)
		}
	}
}

// collectShares plans the shared groups of the policies that changed, and what is noted about them.
func (p *policyPlan) collectShares() {
	edits := map[intent.SetID]*sharerEdit{}
	edit := func(id intent.SetID) *sharerEdit {
		if edits[id] == nil {
			edits[id] = &sharerEdit{sharers{}, sharers{}}
		}
		return edits[id]
	}
	found := map[intent.SetID]share{}
	for id := range p.changed {
		was, is := p.m.policies[id], p.r.want.Policy(id)
		before, after := sharersOf(was), sharersOf(is)
		for set, paths := range before {
			if after[set] != paths {
				edit(set).cut[id] = paths
			}
		}
		for set, paths := range after {
			if before[set] != paths {
				edit(set).put[id] = paths
			}
		}
		if is != nil {
			for s := range sharesOf(is) {
				found[s.set] = s
			}
		}
	}
	for id, e := range edits {
		old := p.m.groups[id]
		switch {
		case old == nil:
			if s, some := found[id]; some {
				p.groups[id] = p.r.sharedGroup(s, e.put, p.originsOf(e.put))
			}
		case e.leaves(old.sharers) == 0:
			p.groups[id] = nil
		default:
			p.sharers[id] = e
		}
	}
	p.planNotes()
}

// originsOf lists the origins of policies that are wanted.
func (p *policyPlan) originsOf(by sharers) []string {
	out := make([]string, 0, len(by))
	for id := range by {
		out = append(out, p.r.want.Policy(id).Origin.String())
	}
	return out
}

// noteEdit is what a plan changes in the notes of a home: notes by policy.
type noteEdit struct{ put, cut map[string]string }

// planNotes plans what is noted about the policies that changed: at most one op for each of their homes.
func (p *policyPlan) planNotes() {
	edits := map[string]*noteEdit{}
	edit := func(policy *intent.Policy) *noteEdit {
		home := homeOf(policy.Origin)
		if edits[home] == nil {
			edits[home] = &noteEdit{map[string]string{}, map[string]string{}}
		}
		return edits[home]
	}
	for id := range p.changed {
		was, is := p.m.policies[id], p.r.want.Policy(id)
		if note := noteOf(was); note != "" {
			edit(was).cut[string(id)] = note
		}
		if note := noteOf(is); note != "" {
			edit(is).put[string(id)] = note
		}
	}
	for home, e := range edits {
		p.planHome(home, e)
	}
}

// planHome plans the row with the notes of a home.
func (p *policyPlan) planHome(home string, e *noteEdit) {
	had := len(p.m.noted[home])
	left := had - len(e.cut) + len(e.put)
	switch {
	case had == 0:
		p.ops = append(p.ops, nb.Create(p.r.sharerNotes(home, e.put)))
	case left == 0:
		p.ops = append(p.ops, nb.Delete(p.r.sharerNotes(home, e.cut)))
	default:
		same := func(id, note string) bool { return e.put[id] == note }
		put := maps.Clone(e.put)
		maps.DeleteFunc(put, func(id, note string) bool { return e.cut[id] == note })
		maps.DeleteFunc(e.cut, same)
		if len(put)+len(e.cut) > 0 {
			p.ops = append(p.ops, nb.Mutate(p.r.bareSharerNotes(home), nb.ColumnExternalIDs, put, e.cut))
		}
	}
}

// planGroups compares the port groups and ACLs of the subjects rendered again.
func (p *policyPlan) planGroups() {
	want, have := nb.Rows{}, nb.Rows{}
	for subject, g := range p.groups {
		old := p.m.groups[subject]
		if old != nil {
			maps.Copy(have, old.acls)
			have.Put(p.r.notes(old)...)
			have.Put(withoutPorts(p.r.portGroup(old, nil)))
		}
		if g == nil {
			continue
		}
		maps.Copy(want, g.acls)
		want.Put(p.r.notes(g)...)
		pg := p.r.portGroup(g, nil)
		if old == nil {
			pg.Sets["ports"] = p.m.ports.cover(p.r.want.Set(subject), p.memberships)
			want.Put(pg)
			continue
		}
		want.Put(withoutPorts(pg))
	}
	p.ops = append(p.ops, nb.Diff(want, have)...)
}

// withoutPorts leaves the ports of a port group to planMembers.
func withoutPorts(pg *nb.Row) *nb.Row {
	delete(pg.Sets, "ports")
	return pg
}

// planReferents creates the address sets and meters that are newly used and removes those that are no longer used.
func (p *policyPlan) planReferents() {
	peers, meters := map[addressSetRef]int{}, map[uint32]int{}
	for subject, g := range p.groups {
		if old := p.m.groups[subject]; old != nil {
			count(peers, old.peers, -1)
			count(meters, old.meters, -1)
		}
		if g != nil {
			count(peers, g.peers, 1)
			count(meters, g.meters, 1)
		}
	}
	want, have := nb.Rows{}, nb.Rows{}
	for ref, n := range peers {
		switch was := p.m.peers[ref]; {
		case was == 0 && n > 0 && p.isBegun(ref): // see planAhead
		case was == 0 && n > 0:
			want.Put(p.r.addressSet(ref))
		case was > 0 && was+n == 0:
			have.Put(p.r.emptyAddressSet(ref))
		}
	}
	for rate, n := range meters {
		switch was := p.m.meters[rate]; {
		case was == 0 && n > 0:
			want.Put(p.r.meter(rate)...)
		case was > 0 && was+n == 0:
			have.Put(p.r.meter(rate)...)
		}
	}
	p.planAhead(peers, want, have)
	p.ops = append(p.ops, nb.Diff(want, have)...)
}

// portEdits returns the edits of the port groups that existed before and stay.
func (p *policyPlan) portEdits() *portEdits {
	stays := func(id intent.SetID) bool {
		g, rendered := p.groups[id]
		return p.m.groups[id] != nil && (!rendered || g != nil)
	}
	e := &portEdits{m: p.m, keys: map[intent.SetID]map[object.Key]bool{}, memberships: map[membership]membershipEdit{}, stays: stays}
	for id, d := range p.deltas {
		if stays(id) {
			e.add(id, d.keys)
		}
	}
	return e
}

// planMembers adds the members that joined and removes those that left, in groups and address sets that existed before
// and stay.
func (p *policyPlan) planMembers() {
	moves := p.edits.moves(p.moved)
	for id := range moves {
		add, remove := moves.split(id)
		p.mutate(p.m.row(portGroupRef(id), p.r), "ports", add, remove)
	}
	for id, d := range p.deltas {
		for _, f := range []intent.Families{intent.IPv4, intent.IPv6} {
			ref := addressSetRef{id, f}
			set := p.r.want.Set(id)
			if p.m.peers[ref] == 0 || set == nil {
				continue
			}
			add, remove := d.addresses(set, f)
			listing, unlisting := d.listing(set, f)
			p.mutate(p.m.row(ref, p.r), "addresses", append(add, listing...), append(remove, unlisting...))
		}
	}
}

func (p *policyPlan) mutate(r *nb.Row, column string, add, remove []string) {
	if len(add)+len(remove) == 0 {
		return
	}
	slices.Sort(add)
	slices.Sort(remove)
	// Two endpoints may share a port; the database rejects duplicate values.
	p.ops = append(p.ops, nb.Mutate(r, column, slices.Compact(add), slices.Compact(remove)))
}

// commit applies the plan to the model.
func (p *policyPlan) commit() {
	for id := range p.changed {
		p.m.putPolicy(id, p.r.want.Policy(id))
	}
	for w, edit := range p.edits.memberships {
		if edit.joined {
			p.m.memberships.add(w.name, edit.endpoint, w.set)
		} else {
			p.m.memberships.remove(w.name, w.set)
		}
	}
	for subject, g := range p.groups {
		if p.m.groups[subject] != nil && g == nil {
			p.m.memberships.drop(p.m.snapshot.Set(subject), p.m.ports.names)
		}
		p.m.putGroup(subject, g)
	}
	for id, e := range p.sharers {
		e.apply(p.m.groups[id].sharers)
	}
	for name, w := range p.memberships {
		for _, id := range w.sets {
			p.m.memberships.add(name, w.endpoint, id)
		}
	}
	if p.r.placed != nil {
		p.m.places = p.r.placed
	}
	p.m.snapshot, p.m.ahead = p.r.want, aheadsOf(p.r.want)
}
