package ovn

import (
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
	notes       map[string]map[string]string // what is noted about policies, by their home and ID, see noteOf
	places      map[intent.PolicyID][]place  // of the rules of policies in ordered tiers
	groups      map[intent.SetID]*group      // those that have ACLs
	emptyGroups map[intent.SetID]*group      // and those with pieces that have none
	peers       map[addressSetRef]int        // how many groups refer to an address set
	ahead       aheads                       // what the snapshot announces
	meters      map[uint32]int               // and to a meter
	bare        map[addressSetRef]*nb.Row    // see row
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
		notes:       map[string]map[string]string{},
		groups:      map[intent.SetID]*group{},
		emptyGroups: map[intent.SetID]*group{},
		peers:       map[addressSetRef]int{},
		ahead:       aheads{},
		meters:      map[uint32]int{},
		bare:        map[addressSetRef]*nb.Row{},
		memberships: memberships{},
	}
}

// held returns the group of a subject, with or without ACLs; nil if there is none.
func (m *model) held(subject intent.SetID) *group {
	if g := m.groups[subject]; g != nil {
		return g
	}
	return m.emptyGroups[subject]
}

// grouped is held as an interface: a plain nil if there is no group.
func (m *model) grouped(subject intent.SetID) groupView {
	if g := m.held(subject); g != nil {
		return g
	}
	return nil
}

// putPolicy sets a policy; nil removes the one of that ID.
func (m *model) putPolicy(id intent.PolicyID, p *intent.Policy) {
	if p == nil {
		delete(m.policies, id)
		return
	}
	m.policies[id] = p
}

// adopt adds a group that the model does not have.
func (m *model) adopt(g *group) {
	m.rows += len(g.acls)
	add(m.peers, crossings(nil, g.peers))
	add(m.meters, crossings(nil, g.meters))
	m.place(g)
}

// change applies an edit of a group, which may be a new one.
func (m *model) change(e *groupEdit) {
	peers := crossings(e.g.peers, e.peers)
	add(m.meters, crossings(e.g.meters, e.meters))
	add(m.peers, peers)
	for ref := range peers {
		if m.peers[ref] == 0 {
			delete(m.bare, ref)
		}
	}
	m.rows -= len(e.g.acls)
	e.apply()
	m.rows += len(e.g.acls)
	m.place(e.g)
}

// place puts a group where it is found.
func (m *model) place(g *group) {
	delete(m.groups, g.subject)
	delete(m.emptyGroups, g.subject)
	switch {
	case len(g.acls) > 0:
		m.groups[g.subject] = g
		return
	case len(g.pieces) > 0:
		m.emptyGroups[g.subject] = g
	}
	delete(m.bare, portGroupRef(g.subject))
}

// row returns the row of an address set or a port group without its columns, for mutations. Names and UUIDs are hashes, so it
// is remembered as long as something refers to the row.
func (m *model) row(ref addressSetRef, r *renderer) *nb.Row {
	row := m.bare[ref]
	if row == nil {
		if ref == portGroupRef(ref.set) {
			row = r.portGroup(ref.set, nil, nil)
		} else {
			row = r.emptyAddressSet(ref)
		}
		row.Fields, row.Sets, row.Maps = nil, nil, nil
		m.bare[ref] = row
	}
	return row
}

// refersTo reports whether rows depend on the members of a set.
func (m *model) refersTo(id intent.SetID) bool {
	return m.groups[id] != nil || m.peers[addressSetRef{id, intent.IPv4}] > 0 || m.peers[addressSetRef{id, intent.IPv6}] > 0
}

// size returns how many rows are ours.
func (m *model) size() int {
	return m.rows + len(m.groups) + len(m.notes) + len(m.peers) + len(m.ahead.without(m.peers)) + 2*len(m.meters) + m.loadBalancers.Size() +
		m.unavailable.size()
}

// render renders every row for policies, and sets the corresponding model.
func (m *model) render(r *renderer) nb.Rows {
	m.places = r.places()
	for p := range r.want.Policies() {
		m.putPolicy(p.ID, p)
	}
	rows := nb.Rows{}
	for _, g := range r.groups(r.want.Policies(), gathered()...) {
		m.adopt(g)
	}
	for subject, g := range m.groups {
		maps.Copy(rows, g.acls)
		rows.Put(r.portGroup(subject, slices.Sorted(maps.Keys(g.acls)), m.ports.cover(r.want.Set(subject), m.memberships)))
	}
	for id, p := range m.policies {
		if note := noteOf(p, m.grouped); note != "" {
			m.putNotes(homeOf(p.Origin), &noteEdit{put: map[string]string{string(id): note}})
		}
	}
	for home, notes := range m.notes {
		rows.Put(r.notes(home, notes))
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
