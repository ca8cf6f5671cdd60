package ovn

import (
	"cmp"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// group is what one subject renders to: the ACLs of its port group and what they refer to.
type group struct {
	subject intent.SetID
	acls    nb.Rows                    // by UUID
	peers   map[addressSetRef]int      // how many pieces refer to each
	meters  map[uint32]int             // and to each meter
	pieces  map[intent.PolicyID]*piece // that of no policy has the ID ""
	// users are the pieces that have an ACL, in order, by its UUID: the first gives it its name. It is nil as long as there was never more than one
	// piece, as in most groups.
	users map[string][]*piece
	// dependent are the policies whose pieces depend on more than the policy.
	dependent map[intent.PolicyID]bool
	sharers   sharers // of a shared group; nil for others
}

// groupView is a group as it is, or as a plan leaves it.
type groupView interface {
	piece(of intent.PolicyID) *piece // nil if the policy has none
	usersOf(acl string) []*piece     // in order
}

// addressSetRef names one address set row.
type addressSetRef struct {
	set    intent.SetID
	family intent.Families
}

// portGroupRef names the row of the port group of a set in model.bare: it is of no family.
func portGroupRef(set intent.SetID) addressSetRef { return addressSetRef{set: set} }

func newGroup(subject intent.SetID) *group {
	return &group{
		subject: subject, acls: nb.Rows{}, peers: map[addressSetRef]int{}, meters: map[uint32]int{}, pieces: map[intent.PolicyID]*piece{},
	}
}

// groupOf puts a group together.
func groupOf(subject intent.SetID, pieces ...*piece) *group {
	g := newGroup(subject)
	put := make(map[intent.PolicyID]*piece, len(pieces))
	for _, p := range pieces {
		put[p.id()] = p
	}
	e := g.edit(nil, put)
	e.apply()
	return g
}

func (g *group) piece(of intent.PolicyID) *piece { return g.pieces[of] }

func (g *group) usersOf(acl string) []*piece {
	if g.users != nil || g.acls[acl] == nil {
		return g.users[acl]
	}
	return slices.Collect(maps.Values(g.pieces))
}

// subjectsOf lists the sets whose port groups have ACLs of p.
func subjectsOf(p *intent.Policy) []intent.SetID {
	subjects := []intent.SetID{p.Subject}
	seen := map[intent.SetID]bool{p.Subject: true}
	for i := range p.Rules {
		if s := subjectOf(p, &p.Rules[i]); !seen[s] {
			seen[s] = true
			subjects = append(subjects, s)
		}
	}
	return subjects
}

func subjectOf(p *intent.Policy, rule *intent.Rule) intent.SetID {
	return cmp.Or(rule.Subject, p.Subject)
}

// groupEdit is what a plan changes in a group. The group stays as it is until the edit is applied.
type groupEdit struct {
	g        *group
	cut, put map[intent.PolicyID]*piece // the pieces that are removed and those that are added, by policy
	users    map[string][]*piece        // of each ACL of those pieces, as they will be
	peers    map[addressSetRef]int      // how many more refer to each
	meters   map[uint32]int
}

// edit lets pieces leave and come. Both may have one of the same policy.
func (g *group) edit(cut, put map[intent.PolicyID]*piece) *groupEdit {
	e := &groupEdit{g: g, cut: cut, put: put, users: map[string][]*piece{}, peers: map[addressSetRef]int{}, meters: map[uint32]int{}}
	for _, p := range cut {
		e.count(p, -1)
		for _, row := range p.rows {
			e.touch(row.UUID)
		}
	}
	for _, p := range put {
		e.count(p, 1)
		for _, row := range p.rows {
			e.touch(row.UUID)
			e.users[row.UUID] = append(e.users[row.UUID], p)
		}
	}
	for _, users := range e.users {
		slices.SortFunc(users, comparePieces)
	}
	return e
}

// touch begins to list the users of an ACL: those that stay.
func (e *groupEdit) touch(acl string) {
	if _, done := e.users[acl]; done {
		return
	}
	users := e.g.usersOf(acl)
	stay := make([]*piece, 0, len(users)+1)
	for _, p := range users {
		if e.cut[p.id()] != p {
			stay = append(stay, p)
		}
	}
	e.users[acl] = stay
}

func (e *groupEdit) count(p *piece, step int) {
	for _, ref := range p.peers {
		e.peers[ref] += step
	}
	for _, rate := range p.meters {
		e.meters[rate] += step
	}
}

func (e *groupEdit) piece(of intent.PolicyID) *piece {
	if p := e.put[of]; p != nil {
		return p
	}
	if e.cut[of] != nil {
		return nil
	}
	return e.g.pieces[of]
}

func (e *groupEdit) usersOf(acl string) []*piece {
	if users, touched := e.users[acl]; touched {
		return users
	}
	return e.g.usersOf(acl)
}

// acl returns a touched ACL as it will be; nil if it goes.
func (e *groupEdit) acl(uuid string) *nb.Row {
	if users := e.users[uuid]; len(users) > 0 {
		return users[0].row(uuid)
	}
	return nil
}

// rows returns the touched ACLs as they will be and as they are, and the UUIDs of those that come and go.
func (e *groupEdit) rows() (want, have nb.Rows, come, gone []string) {
	want, have = nb.Rows{}, nb.Rows{}
	for uuid := range e.users {
		is, was := e.acl(uuid), e.g.acls[uuid]
		if was != nil {
			have.Put(was)
		}
		if is != nil {
			want.Put(is)
		}
		switch {
		case was == nil && is != nil:
			come = append(come, uuid)
		case was != nil && is == nil:
			gone = append(gone, uuid)
		}
	}
	slices.Sort(come)
	slices.Sort(gone)
	return want, have, come, gone
}

// renamed lists the policies before and after each ACL that is named after another one from now on.
func (e *groupEdit) renamed() []intent.PolicyID {
	var out []intent.PolicyID
	for uuid, users := range e.users {
		was := e.g.usersOf(uuid)
		if len(was) == 0 || len(users) == 0 || was[0] == users[0] {
			continue
		}
		out = append(out, was[0].id(), users[0].id())
	}
	return out
}

// isEmpty reports whether the group will have no ACL, and wasEmpty whether it has none now: then it has no rows.
func (e *groupEdit) isEmpty() bool {
	n := len(e.g.acls)
	for uuid, users := range e.users {
		if len(users) > 0 {
			n++
		}
		if e.g.acls[uuid] != nil {
			n--
		}
	}
	return n == 0
}

func (e *groupEdit) wasEmpty() bool { return len(e.g.acls) == 0 }

// apply changes the group.
func (e *groupEdit) apply() {
	g := e.g
	users := g.users
	if users == nil {
		users = map[string][]*piece{}
		for uuid := range g.acls {
			users[uuid] = g.usersOf(uuid)
		}
	}
	for id := range e.cut {
		delete(g.pieces, id)
		delete(g.dependent, id)
	}
	for id, p := range e.put {
		g.pieces[id] = p
		if p.dependent {
			if g.dependent == nil {
				g.dependent = map[intent.PolicyID]bool{}
			}
			g.dependent[id] = true
		}
	}
	for uuid, by := range e.users {
		if len(by) == 0 {
			delete(users, uuid)
			delete(g.acls, uuid)
			continue
		}
		users[uuid], g.acls[uuid] = by, by[0].row(uuid)
	}
	if len(g.pieces) > 1 {
		g.users = users
	}
	add(g.peers, e.peers)
	add(g.meters, e.meters)
}

// add adds counts, and drops those that are 0.
func add[K comparable](to, by map[K]int) {
	for k, n := range by {
		if to[k] += n; to[k] == 0 {
			delete(to, k)
		}
	}
}

// crossings returns 1 for each key that counts begin to use, and -1 for each that they no longer use.
func crossings[K comparable](was, by map[K]int) map[K]int {
	out := map[K]int{}
	for k, n := range by {
		switch {
		case was[k] == 0 && n > 0:
			out[k] = 1
		case was[k] > 0 && was[k]+n == 0:
			out[k] = -1
		}
	}
	return out
}
