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
	groups      map[intent.SetID]*groupEdit
	sharers     map[intent.SetID]*sharerEdit // of shared groups that stay
	noteEdits   map[string]*noteEdit         // by home
	deltas      map[intent.SetID]*delta
	edits       *portEdits
	memberships memberships // of the groups that are new
	ops         []*nb.Op
}

// planPolicies plans what changes of the snapshot and moved logical ports ask for.
func planPolicies(r *renderer, m *model, changes []intent.Change, moved map[string][]string) *policyPlan {
	p := &policyPlan{
		r: r, m: m, moved: moved, changed: map[intent.PolicyID]bool{}, groups: map[intent.SetID]*groupEdit{},
		sharers: map[intent.SetID]*sharerEdit{}, noteEdits: map[string]*noteEdit{}, deltas: map[intent.SetID]*delta{}, memberships: memberships{},
	}
	p.collect(changes)
	p.planGroups()
	p.planNotes()
	p.planReferents()
	p.edits = p.portEdits()
	p.planMembers()
	return p
}

// collect gathers the changed policies, the groups that have to be edited for them, and the net membership changes.
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
	was, is := p.changedBySubject()
	for s := range subjects {
		p.groups[s] = p.editGroup(s, was[s], is[s])
	}
	p.collectShares()
}

// changedBySubject lists the changed policies as they were and as they are, by the subjects that they have.
func (p *policyPlan) changedBySubject() (was, is map[intent.SetID][]*intent.Policy) {
	was, is = map[intent.SetID][]*intent.Policy{}, map[intent.SetID][]*intent.Policy{}
	file := func(to map[intent.SetID][]*intent.Policy, policy *intent.Policy) {
		if policy == nil {
			return
		}
		for _, s := range subjectsOf(policy) {
			to[s] = append(to[s], policy)
		}
	}
	for id := range p.changed {
		file(was, p.m.policies[id])
		file(is, p.r.want.Policy(id))
	}
	return was, is
}

// editGroup plans a group: it removes the pieces of the policies in was, adds those of the policies in is, and renders again the pieces that depend on
// other policies, and the one of no policy.
func (p *policyPlan) editGroup(subject intent.SetID, was, is []*intent.Policy) *groupEdit {
	g := p.m.held(subject)
	if g == nil {
		g = newGroup(subject)
	}
	cut, put := map[intent.PolicyID]*piece{}, map[intent.PolicyID]*piece{}
	leave := func(id intent.PolicyID) {
		if piece := g.pieces[id]; piece != nil {
			cut[id] = piece
		}
	}
	come := func(piece *piece) {
		if piece != nil {
			put[piece.id()] = piece
		}
	}
	for _, policy := range was {
		leave(policy.ID)
	}
	for _, policy := range is {
		come(p.r.piece(subject, policy))
	}
	for id := range g.dependent {
		if !p.changed[id] {
			leave(id)
			come(p.r.piece(subject, p.r.want.Policy(id)))
		}
	}
	if slices.Contains(gathered(), subject) {
		leave("")
		come(p.r.base(subject))
	}
	return g.edit(cut, put)
}

// grouped returns the group of a subject as the plan leaves it, for noteOf.
func (p *policyPlan) grouped(subject intent.SetID) groupView {
	if e := p.groups[subject]; e != nil {
		return e
	}
	return p.m.grouped(subject)
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

// collectShares plans the shared groups of the policies that changed.
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
			s, some := found[id]
			if !some {
				continue
			}
			if acls := p.r.sharedPiece(s, p.originsOf(e.put)); acls != nil {
				g := newGroup(id)
				g.sharers = e.put
				p.groups[id] = g.edit(nil, map[intent.PolicyID]*piece{"": acls})
			}
		case e.leaves(old.sharers) == 0:
			p.groups[id] = old.edit(old.pieces, nil)
		default:
			p.sharers[id] = e
		}
	}
}

// originsOf lists the origins of policies that are wanted.
func (p *policyPlan) originsOf(by sharers) []string {
	out := make([]string, 0, len(by))
	for id := range by {
		out = append(out, p.r.want.Policy(id).Origin.String())
	}
	return out
}

// planGroups plans the ACLs that change, and the port groups that come, go or have others.
func (p *policyPlan) planGroups() {
	want, have := nb.Rows{}, nb.Rows{}
	for subject, e := range p.groups {
		is, was, come, gone := e.rows()
		maps.Copy(want, is)
		maps.Copy(have, was)
		switch {
		case e.wasEmpty() && e.isEmpty():
		case e.wasEmpty():
			want.Put(p.r.portGroup(subject, come, p.m.ports.cover(p.r.want.Set(subject), p.memberships)))
		case e.isEmpty():
			have.Put(p.r.portGroup(subject, gone, nil))
		default:
			p.mutate(p.m.row(portGroupRef(subject), p.r), nb.ColumnACLs, come, gone)
		}
	}
	p.ops = append(p.ops, nb.Diff(want, have)...)
}

// planReferents creates the address sets and meters that are newly used and removes those that are no longer used.
func (p *policyPlan) planReferents() {
	peers, meters := map[addressSetRef]int{}, map[uint32]int{}
	for _, e := range p.groups {
		add(peers, crossings(e.g.peers, e.peers))
		add(meters, crossings(e.g.meters, e.meters))
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
		e, edited := p.groups[id]
		return p.m.groups[id] != nil && (!edited || !e.isEmpty())
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
	for subject, e := range p.groups {
		if !e.wasEmpty() && e.isEmpty() {
			p.m.memberships.drop(p.m.snapshot.Set(subject), p.m.ports.names)
		}
		p.m.change(e)
	}
	for id, e := range p.sharers {
		e.apply(p.m.groups[id].sharers)
	}
	for home, e := range p.noteEdits {
		p.m.putNotes(home, e)
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
