package intent

import (
	"maps"
	"slices"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// Lowering follows snapshots with rules that pass by equal ones without, for targets whose rules can only allow or deny. It is not
// safe for concurrent use.
//
// A lowered snapshot has the revision of the one it stands for and remembers, for each revision, the changes of that one. Its cost depends on what
// changed: policies with rules that pass are lowered again if they or one of a later tier for the same namespaces changed. All of them are while
// there are more rules than the limit.
type Lowering struct {
	limit     int
	from, out *Snapshot // the last ones; nil before the first
	passed    bool      // something passes in from
	sides     map[Direction]*oneWay
	meets     map[SetID]meetOf
	uses      map[SetID]int            // how many lowered policies need an intersection
	byPart    map[SetID]map[SetID]bool // the intersections of which a set is a part
	filed     map[SetID][]SetID        // and the sets of which it is one
	overflows map[Overflow]bool
}

// NewLowering starts without a snapshot. All pass rules of one direction are replaced by at most limit rules. If more would be needed,
// those of lowest precedence deny instead, see Overflows.
func NewLowering(limit int) *Lowering { return &Lowering{limit: limit} }

// Lower returns a snapshot that gives the same verdicts as want and has no pass rules.
func Lower(want *Snapshot, limit int) *Snapshot { return NewLowering(limit).Next(want) }

// Next returns the lowered form of want. If nothing passes, that is want itself.
func (l *Lowering) Next(want *Snapshot) *Snapshot {
	if l.from == want {
		return l.out
	}
	passed := l.passed
	l.passed = passes(want)
	switch {
	case !passed && !l.passed:
		l.out, l.overflows = want, nil
	case l.from != nil && passed && l.passed:
		l.step(want, want.ChangesFrom(l.from))
	default:
		l.begin(want)
	}
	l.from = want
	return l.out
}

// passes reports whether some rule passes.
func passes(s *Snapshot) bool {
	for p := range s.Ranked(TierAdmin) {
		if slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Action == Pass }) {
			return true
		}
	}
	return false
}

// begin lowers a snapshot without regard to earlier ones, whose changes the result does not know.
func (l *Lowering) begin(want *Snapshot) {
	l.meets, l.uses, l.byPart, l.filed = map[SetID]meetOf{}, map[SetID]int{}, map[SetID]map[SetID]bool{}, map[SetID][]SetID{}
	l.sides = map[Direction]*oneWay{}
	for _, d := range Directions() {
		l.sides[d] = newOneWay(d, want)
	}
	out := *want
	out.log, out.weight = nil, 0
	n := &lowered{Lowering: l, want: want, sets: out.sets.Txn(), policies: out.policies.Txn(), ranked: out.ranked.Txn()}
	n.lower(nil)
	n.derive(nil)
	out.sets, out.policies, out.ranked = n.sets.Commit(), n.policies.Commit(), n.ranked.Commit()
	l.out = &out
}

// step lowers what changed.
func (l *Lowering) step(want *Snapshot, changes []Change) {
	n := &lowered{
		Lowering: l, want: want, sets: l.out.sets.Txn(), policies: l.out.policies.Txn(), ranked: l.out.ranked.Txn(),
	}
	policies := n.copy(changes)
	if policies {
		n.lower(changes)
	}
	n.derive(changes)
	out := *want
	out.sets, out.policies, out.ranked = n.sets.Commit(), n.policies.Commit(), n.ranked.Commit()
	out.log, out.weight = l.out.log, l.out.weight
	if want.revision-l.out.revision != Revision(len(changes)) {
		out.log, out.weight = nil, 0
		l.out = &out
		return
	}
	for i, c := range changes {
		if i == len(changes)-1 {
			c.Policies = slices.Concat(c.Policies, n.change.Policies)
			c.Sets = slices.Concat(c.Sets, n.change.Sets)
			c.Members = slices.Concat(c.Members, n.change.Members)
		}
		out.log, out.weight = remember(out.log, out.weight, c)
	}
	l.out = &out
}

// lowered is a lowered snapshot being made.
type lowered struct {
	*Lowering

	want     *Snapshot
	sets     *iradix.Txn[*Set]
	policies *iradix.Txn[*Policy]
	ranked   *iradix.Txn[*Policy]
	change   Change             // beyond those of want
	released []map[SetID]meetOf // the intersections of policies that are lowered again or no longer
}

// copy takes over what changed in want, and reports whether policies did, or the sets of isolated endpoints came or went.
func (n *lowered) copy(changes []Change) (policies bool) {
	for i := range changes {
		c := &changes[i]
		for _, id := range c.Sets {
			was, now := n.from.partsOf(id), n.want.partsOf(id)
			n.copySet(id)
			policies = policies || !slices.Equal(was, now) || id == IsolatedIngress || id == IsolatedEgress
		}
		for j := range c.Members {
			n.copySet(c.Members[j].ID)
		}
		for _, id := range c.Policies {
			n.put(id, n.want.Policy(id))
			policies = true
		}
	}
	return policies
}

func (n *lowered) copySet(id SetID) {
	if set := n.want.Set(id); set != nil {
		n.sets.Insert([]byte(id), set.stored())
	} else {
		n.sets.Delete([]byte(id))
	}
}

// put sets a policy; nil removes it.
func (n *lowered) put(id PolicyID, p *Policy) {
	if old, had := n.policies.Get([]byte(id)); had {
		n.policies.Delete([]byte(id))
		if old.Tier != TierNetworkPolicy {
			n.ranked.Delete(old.rank())
		}
	}
	if p == nil {
		return
	}
	n.policies.Insert([]byte(id), p)
	if p.Tier != TierNetworkPolicy {
		n.ranked.Insert(p.rank(), p)
	}
}

// derive makes the intersections that are new or whose parts changed.
func (n *lowered) derive(changes []Change) {
	touched := map[SetID]*touchedMembers{}
	fresh := map[SetID]bool{}
	for _, id := range n.change.Sets {
		fresh[id] = true
	}
	for i := range changes {
		for j := range changes[i].Members {
			d := &changes[i].Members[j]
			for id := range n.byPart[d.ID] {
				if touched[id] == nil {
					touched[id] = newTouchedMembers()
				}
				touched[id].add(d)
			}
		}
		for _, part := range changes[i].Sets { // a set that went and came back may have any members
			for id := range n.byPart[part] {
				if !fresh[id] {
					fresh[id] = true
					n.change.Sets = append(n.change.Sets, id)
				}
			}
		}
	}
	for id := range fresh {
		if m, exists := n.meets[id]; exists {
			n.sets.Insert([]byte(id), n.meet(id, m))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(touched)) {
		m, exists := n.meets[id]
		if fresh[id] || !exists {
			continue
		}
		old, _ := n.sets.Get([]byte(id))
		now := n.meet(id, m)
		n.sets.Insert([]byte(id), now)
		delta := SetDelta{ID: id}
		was, wasMeet := old.Members.(meet)
		if is, isMeet := now.Members.(meet); wasMeet && isMeet {
			delta = was.change(id, is, touched[id])
		}
		if delta.setPrefixes(old.Prefixes, now.Prefixes); delta.weight() > 0 {
			n.change.Members = append(n.change.Members, delta)
		}
	}
}

// meet returns an intersection of sets as they are now. One that does not exist is empty.
func (n *lowered) meet(id SetID, m meetOf) *Set {
	parts := make([]*Set, len(m.ids))
	for i, part := range m.ids {
		if parts[i] = n.want.Set(part); parts[i] == nil {
			parts[i] = &Set{ID: part}
		}
	}
	return newMeet(id, parts, m.subject)
}

// samePolicy reports whether two policies have the same rules and the same place among others.
func samePolicy(a, b *Policy) bool {
	return a.Tier == b.Tier && a.Priority == b.Priority && a.Subject == b.Subject && a.Log == b.Log && a.CNFs == b.CNFs &&
		a.Origin == b.Origin && slices.EqualFunc(a.Rules, b.Rules, func(a, b Rule) bool {
		return a.Path == b.Path && a.Name == b.Name && a.Action == b.Action && a.Subject == b.Subject && a.Peer == b.Peer &&
			a.Ports.Any == b.Ports.Any && slices.Equal(a.Ports.Ranges, b.Ports.Ranges) && slices.Equal(a.Parts, b.Parts)
	})
}
