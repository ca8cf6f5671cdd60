package ovn

import (
	"cmp"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/lb"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// model is what the target has, as of the last plan that was applied completely. With it the next plan only handles
// what changed.
type model struct {
	snapshot    *intent.Snapshot
	epoch       uint64 // of the connection; a new one may be to a database that was restored
	rows        int    // how many rows are ours
	policies    map[intent.PolicyID]*intent.Policy
	bySubject   map[intent.SetID]map[intent.PolicyID]bool
	noted       map[string]map[intent.PolicyID]*intent.Policy // those that share ACLs, by their home, see sharerNotes
	places      map[intent.PolicyID][]place                   // of the rules of policies in ordered tiers
	groups      map[intent.SetID]*group
	peers       map[addressSetRef]int     // how many groups refer to an address set
	ahead       aheads                    // what the snapshot announces
	meters      map[uint32]int            // and to a meter
	bare        map[addressSetRef]*nb.Row // see row
	memberships memberships
	coverage    *coverage
	// ports finds logical ports, including those kept for endpoints since the last read-back.
	ports         portFinder
	loadBalancers *lb.Model
	unavailable   *unavailable // nil while load balancers are available
	keptRows      keptRows
}

func newModel(ports portFinder) *model {
	return &model{
		ports: ports, loadBalancers: &lb.Model{},
		policies:    map[intent.PolicyID]*intent.Policy{},
		bySubject:   map[intent.SetID]map[intent.PolicyID]bool{},
		noted:       map[string]map[intent.PolicyID]*intent.Policy{},
		groups:      map[intent.SetID]*group{},
		peers:       map[addressSetRef]int{},
		ahead:       aheads{},
		meters:      map[uint32]int{},
		bare:        map[addressSetRef]*nb.Row{},
		memberships: memberships{},
	}
}

// putPolicy sets a policy; nil removes the one of that ID.
func (m *model) putPolicy(id intent.PolicyID, p *intent.Policy) {
	if old := m.policies[id]; old != nil {
		for _, s := range subjectsOf(old) {
			delete(m.bySubject[s], id)
			if len(m.bySubject[s]) == 0 {
				delete(m.bySubject, s)
			}
		}
		delete(m.policies, id)
		m.unnote(old)
	}
	if p == nil {
		return
	}
	m.policies[id] = p
	m.note(p)
	if !hasACLs(p) {
		return // there may be any number of those that exceed a budget
	}
	for _, s := range subjectsOf(p) {
		if m.bySubject[s] == nil {
			m.bySubject[s] = map[intent.PolicyID]bool{}
		}
		m.bySubject[s][id] = true
	}
}

// note adds a policy to those of its home if something is noted about it.
func (m *model) note(p *intent.Policy) {
	if !isSharer(p) {
		return
	}
	home := homeOf(p.Origin)
	if m.noted[home] == nil {
		m.noted[home] = map[intent.PolicyID]*intent.Policy{}
	}
	m.noted[home][p.ID] = p
}

// unnote removes a policy from those of its home.
func (m *model) unnote(p *intent.Policy) {
	home := homeOf(p.Origin)
	delete(m.noted[home], p.ID)
	if len(m.noted[home]) == 0 {
		delete(m.noted, home)
	}
}

// putGroup sets what a subject was rendered to; nil removes it.
func (m *model) putGroup(subject intent.SetID, g *group) {
	if old := m.groups[subject]; old != nil {
		count(m.peers, old.peers, -1)
		count(m.meters, old.meters, -1)
		m.rows -= old.size()
		for ref := range old.peers {
			if m.peers[ref] == 0 {
				delete(m.bare, ref)
			}
		}
	}
	if g == nil {
		delete(m.bare, portGroupRef(subject))
		delete(m.groups, subject)
		return
	}
	m.groups[subject] = g
	m.rows += g.size()
	count(m.peers, g.peers, 1)
	count(m.meters, g.meters, 1)
}

// row returns the row of an address set or a port group without its columns, for mutations. Names and UUIDs are hashes, so it
// is remembered as long as something refers to the row.
func (m *model) row(ref addressSetRef, r *renderer) *nb.Row {
	row := m.bare[ref]
	if row == nil {
		if ref == portGroupRef(ref.set) {
			row = r.portGroup(newGroup(ref.set), nil)
		} else {
			row = r.emptyAddressSet(ref)
		}
		row.Fields, row.Sets, row.Maps = nil, nil, nil
		m.bare[ref] = row
	}
	return row
}

func count[K comparable](uses map[K]int, by map[K]bool, step int) {
	for k := range by {
		uses[k] += step
		if uses[k] == 0 {
			delete(uses, k)
		}
	}
}

// refersTo reports whether rows depend on the members of a set.
func (m *model) refersTo(id intent.SetID) bool {
	return m.groups[id] != nil || m.peers[addressSetRef{id, intent.IPv4}] > 0 || m.peers[addressSetRef{id, intent.IPv6}] > 0
}

// size returns how many rows are ours.
func (m *model) size() int {
	return m.rows + len(m.groups) + len(m.noted) + len(m.peers) + len(m.ahead.without(m.peers)) + 2*len(m.meters) + m.loadBalancers.Size() +
		m.unavailable.size()
}

// render renders every row for policies, and sets the corresponding model.
func (m *model) render(r *renderer) nb.Rows {
	m.places = r.places()
	for p := range r.want.Policies() {
		m.putPolicy(p.ID, p)
	}
	rows := nb.Rows{}
	for subject, g := range r.groups(r.want.Policies(), gathered()...) {
		m.putGroup(subject, g)
		maps.Copy(rows, g.acls)
		rows.Put(r.notes(g)...)
		rows.Put(r.portGroup(g, m.ports.cover(r.want.Set(subject), m.memberships)))
	}
	for home, of := range m.noted {
		rows.Put(r.sharerNotes(home, notesOf(of)))
	}
	for ref := range m.peers {
		rows.Put(r.addressSet(ref))
	}
	m.ahead = aheadsOf(r.want)
	for ref, b := range m.ahead.without(m.peers) {
		rows.Put(r.aheadSet(ref, b))
	}
	for rate := range m.meters {
		rows.Put(r.meter(rate)...)
	}
	return rows
}

// policiesOf lists the policies with ACLs in the group of a subject, in order, as they will be: without those in changed, and with others in
// their place.
func (m *model) policiesOf(subject intent.SetID, r *renderer, changed map[intent.PolicyID]bool, with []*intent.Policy) []*intent.Policy {
	out := slices.Clone(with)
	for id := range m.bySubject[subject] {
		if !changed[id] {
			out = append(out, r.want.Policy(id))
		}
	}
	slices.SortFunc(out, func(a, b *intent.Policy) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
