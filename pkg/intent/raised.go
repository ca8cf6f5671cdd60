package intent

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
)

// raised is a policy with pass rules in its lowered form, and what that form depends on, other than the policies of later tiers in the same
// namespaces.
type raised struct {
	from    *Policy
	decides bool // some rule of a policy after it in its tier does
	out     *Policy
	count   int              // how many rules replace its pass rules, as the limit counts them
	sets    map[SetID]bool   // that the rules name
	meets   map[SetID]meetOf // the intersections that they need
}

// oneWay is what a Lowering knows of one direction.
type oneWay struct {
	later     byNamespace // the policies that decide about what TierAdmin passes
	passing   byNamespace // those of TierAdmin with pass rules
	raised    map[PolicyID]*raised
	count     int               // of all raised
	overflows map[Overflow]bool // if there are any, every change lowers all
}

func newOneWay(d Direction, want *Snapshot) *oneWay {
	s := &oneWay{later: newByNamespace(), passing: newByNamespace(), raised: map[PolicyID]*raised{}}
	for p := range want.Policies() {
		if p.Direction == d && isLater(p) {
			s.later.put(p)
		}
	}
	return s
}

// isLater reports whether a policy decides about what TierAdmin passes.
func isLater(p *Policy) bool { return p.Tier == TierNetworkPolicy || p.Tier == TierBaseline }

// byNamespace finds policies that may apply to the same endpoints: two for different namespaces never do.
type byNamespace struct {
	all, everywhere map[PolicyID]*Policy
	in              map[string]map[PolicyID]*Policy
}

func newByNamespace() byNamespace {
	return byNamespace{map[PolicyID]*Policy{}, map[PolicyID]*Policy{}, map[string]map[PolicyID]*Policy{}}
}

func (b *byNamespace) put(p *Policy) {
	b.all[p.ID] = p
	if p.Namespaces == nil {
		b.everywhere[p.ID] = p
	}
	for _, ns := range p.Namespaces {
		if b.in[ns] == nil {
			b.in[ns] = map[PolicyID]*Policy{}
		}
		b.in[ns][p.ID] = p
	}
}

// drop removes the policy of an ID, if there is one.
func (b *byNamespace) drop(id PolicyID) {
	p := b.all[id]
	if p == nil {
		return
	}
	delete(b.all, id)
	delete(b.everywhere, id)
	for _, ns := range p.Namespaces {
		delete(b.in[ns], id)
		if len(b.in[ns]) == 0 {
			delete(b.in, ns)
		}
	}
}

// near lists the policies that may apply to an endpoint that p applies to, in the order of evaluation.
func (b *byNamespace) near(p *Policy) []*Policy {
	found := b.all
	if p.Namespaces != nil {
		found = maps.Clone(b.everywhere)
		for _, ns := range p.Namespaces {
			maps.Copy(found, b.in[ns])
		}
	}
	return slices.SortedFunc(maps.Values(found), func(p, q *Policy) int {
		if p.Tier == TierNetworkPolicy || q.Tier == TierNetworkPolicy {
			return cmp.Or(cmp.Compare(p.Tier, q.Tier), cmp.Compare(p.ID, q.ID))
		}
		return bytes.Compare(p.rank(), q.rank())
	})
}

// lower lowers the policies with pass rules that changes concern, or all for nil.
func (n *lowered) lower(changes []Change) {
	affected := map[Direction]map[PolicyID]bool{}
	for _, d := range Directions() {
		affected[d] = map[PolicyID]bool{}
	}
	admin, whole := map[Direction]bool{}, map[Direction]bool{}
	changed := map[PolicyID]bool{}
	for i := range changes {
		for _, id := range changes[i].Policies {
			changed[id] = true
		}
		for _, id := range changes[i].Sets {
			n.affectedBySet(id, affected, whole)
		}
	}
	for id := range changed {
		for _, p := range []*Policy{n.from.Policy(id), n.want.Policy(id)} {
			switch {
			case p == nil:
			case p.Tier == TierAdmin:
				admin[p.Direction], affected[p.Direction][id] = true, true
			case isLater(p):
				n.affectedByPolicy(p, affected[p.Direction])
			}
		}
	}
	for _, d := range Directions() {
		s := n.sides[d]
		if whole[d] || changes == nil || len(s.overflows) > 0 || !n.relower(d, admin[d], affected[d]) {
			n.lowerAll(d)
		}
	}
	n.settleMeets(changes)
}

// affectedBySet adds the policies that a set concerns that came, went or has other parts.
func (n *lowered) affectedBySet(id SetID, affected map[Direction]map[PolicyID]bool, whole map[Direction]bool) {
	for _, d := range Directions() {
		if id == IsolatedSet(d) {
			whole[d] = true
		}
	}
	if slices.Equal(n.from.partsOf(id), n.want.partsOf(id)) {
		return
	}
	for d, s := range n.sides {
		for policy, r := range s.raised {
			if r.sets[id] {
				affected[d][policy] = true
			}
		}
	}
}

// affectedByPolicy follows a version of a policy of a later tier, which is there only if it is in want, and adds the policies that it concerns.
func (n *lowered) affectedByPolicy(p *Policy, affected map[PolicyID]bool) {
	s := n.sides[p.Direction]
	s.later.drop(p.ID)
	if now := n.want.Policy(p.ID); now != nil && now.Direction == p.Direction && isLater(now) {
		s.later.put(now)
	}
	for _, passing := range s.passing.near(p) {
		affected[passing.ID] = true
	}
}

// relower lowers the affected policies of a direction again, and with admin those whose place in the tier matters. It returns false if there
// would be too many rules.
func (n *lowered) relower(d Direction, admin bool, affected map[PolicyID]bool) bool {
	s := n.sides[d]
	var again []*raised
	if admin {
		passing := passingOf(n.want, d)
		for id, r := range passing {
			if old := s.raised[id]; old == nil || old.decides != r.decides || affected[id] {
				again = append(again, r)
			}
		}
		for id := range s.raised {
			if passing[id] == nil {
				n.replace(s, id, nil)
			}
		}
	} else {
		for id := range affected {
			again = append(again, &raised{from: s.raised[id].from, decides: s.raised[id].decides})
		}
	}
	for _, r := range again {
		left := n.limit - s.count
		if old := s.raised[r.from.ID]; old != nil {
			left += old.count
		}
		l := &lowering{from: n.want, direction: d, later: &s.later, left: left, overflows: map[Overflow]bool{}}
		l.lower(r)
		if len(l.overflows) > 0 {
			return false
		}
		n.replace(s, r.from.ID, r)
	}
	return true
}

// lowerAll lowers all policies of a direction, in order: if there are too many rules, those of lowest precedence deny.
func (n *lowered) lowerAll(d Direction) {
	s, passing := n.sides[d], passingOf(n.want, d)
	l := &lowering{from: n.want, direction: d, later: &s.later, left: n.limit, overflows: map[Overflow]bool{}}
	for id := range s.raised {
		if passing[id] == nil {
			n.replace(s, id, nil)
		}
	}
	for p := range n.want.Ranked(TierAdmin) {
		if r := passing[p.ID]; r != nil {
			l.lower(r)
			n.replace(s, p.ID, r)
		}
	}
	s.overflows = l.overflows
}

// passingOf returns the policies of TierAdmin with pass rules, not lowered yet.
func passingOf(want *Snapshot, d Direction) map[PolicyID]*raised {
	out := map[PolicyID]*raised{}
	admin := slices.Collect(want.Ranked(TierAdmin))
	decides := false
	for _, p := range slices.Backward(admin) {
		if p.Direction != d {
			continue
		}
		if slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Action == Pass }) {
			out[p.ID] = &raised{from: p, decides: decides}
		}
		decides = decides || slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Action != Pass })
	}
	return out
}

// replace sets a lowered policy; nil removes the one of an ID, of which want has another form or none.
func (n *lowered) replace(s *oneWay, id PolicyID, r *raised) {
	if old := s.raised[id]; old != nil {
		s.count -= old.count
		s.passing.drop(id)
		delete(s.raised, id)
		n.released = append(n.released, old.meets)
	}
	if r == nil {
		return
	}
	s.count += r.count
	s.passing.put(r.from)
	s.raised[id] = r
	for meet, of := range r.meets {
		n.use(meet, of)
	}
	old, _ := n.policies.Get([]byte(id))
	if old == nil || !samePolicy(old, r.out) {
		n.change.Policies = append(n.change.Policies, id)
	}
	n.put(id, r.out)
}

// use counts one more policy that needs an intersection.
func (n *lowered) use(id SetID, of meetOf) {
	if n.uses[id]++; n.uses[id] > 1 {
		return
	}
	n.meets[id] = of
	n.change.Sets = append(n.change.Sets, id)
	n.file(id)
}

// settleMeets removes unused intersections, and files those again whose sets have other parts now.
func (n *lowered) settleMeets(changes []Change) {
	for i := range changes {
		for _, part := range changes[i].Sets {
			for _, id := range slices.Collect(maps.Keys(n.byPart[part])) {
				n.unfile(id)
				n.file(id)
			}
		}
	}
	for _, meets := range n.released {
		for id := range meets {
			if n.uses[id]--; n.uses[id] > 0 {
				continue
			}
			n.unfile(id)
			delete(n.uses, id)
			delete(n.meets, id)
			n.copySet(id)
			n.change.Sets = append(n.change.Sets, id)
		}
	}
	slices.Sort(n.change.Sets)
	slices.Sort(n.change.Policies)
	n.overflows = map[Overflow]bool{}
	for _, s := range n.sides {
		maps.Copy(n.overflows, s.overflows)
	}
}

// file enters an intersection under the sets that it depends on.
func (n *lowered) file(id SetID) {
	for _, set := range n.meets[id].ids {
		for _, part := range append([]SetID{set}, n.want.partsOf(set)...) {
			if n.byPart[part] == nil {
				n.byPart[part] = map[SetID]bool{}
			}
			n.byPart[part][id] = true
			n.filed[id] = append(n.filed[id], part)
		}
	}
}

func (n *lowered) unfile(id SetID) {
	for _, part := range n.filed[id] {
		delete(n.byPart[part], id)
		if len(n.byPart[part]) == 0 {
			delete(n.byPart, part)
		}
	}
	delete(n.filed, id)
}
