package intent

import (
	"cmp"
	"maps"
	"slices"
)

// MaxRaised is how many rules may replace all pass rules of one direction, see Lowering.
const MaxRaised = 20_000

// lowering is one direction being lowered.
type lowering struct {
	from      *Snapshot
	direction Direction
	later     *byNamespace // the policies of the tiers after TierAdmin
	left      int          // how many rules may still be raised
	into      *raised      // what is being lowered
	overflows map[Overflow]bool
}

// meetOf is the sets whose intersection a set is.
type meetOf struct {
	ids     []SetID
	subject bool
}

// box is the traffic that a rule matches: of endpoints in all subjects, with addresses in all peers. No peer is any.
type box struct {
	subjects, peers []SetID
	nobody          bool // it matches nothing
	ports           Ports
}

// lower makes the policy that replaces one with pass rules.
//
// The first match of plain ordered rules decides, so what a rule passes must be decided right there. The rule is replaced by those of the
// later tiers, narrowed to the traffic that it matches, and a last one that allows it.
func (l *lowering) lower(into *raised) {
	into.sets, into.meets, l.into = map[SetID]bool{}, map[SetID]meetOf{}, into
	p, before := into.from, l.left
	out := *p
	out.Rules = nil
	for i := range p.Rules {
		switch {
		case p.Rules[i].Action != Pass:
			out.Rules = append(out.Rules, p.Rules[i])
		case into.decides || slices.ContainsFunc(p.Rules[i+1:], func(r Rule) bool { return r.Action != Pass }):
			out.Rules = append(out.Rules, l.raise(p, i)...)
		}
	}
	into.out, into.count = &out, before-l.left
}

// raise returns the rules that replace the i-th rule of a policy. If there would be too many, it is replaced by one that denies, and so are
// all rules of lower precedence.
func (l *lowering) raise(p *Policy, i int) []Rule {
	passed := boxOf(p, &p.Rules[i])
	like := Rule{Path: p.Rules[i].Path, Name: p.Rules[i].Name}
	var denied, allowed, baseline []Rule
	for _, q := range l.later.near(p) {
		for j := range q.Rules {
			r, ok := l.rule(like, passed.and(boxOf(q, &q.Rules[j])))
			if !ok {
				continue
			}
			r.Action = q.Rules[j].Action
			switch {
			case q.Tier == TierBaseline:
				if r.Action == Pass {
					r.Action = Allow
				}
				baseline = append(baseline, r)
			case r.Action == Allow:
				allowed = append(allowed, r)
			default:
				r.Action = Deny
				denied = append(denied, r)
			}
		}
		if len(denied)+len(allowed)+len(baseline) > l.left {
			l.left = 0 // nor is there enough for rules of less precedence
			l.overflows[Overflow{p.ID, like.Path}] = true
			rule, _ := l.rule(like, passed)
			return []Rule{rule}
		}
	}
	l.left -= len(denied) + len(allowed) + len(baseline)
	out := slices.Concat(denied, distinct(allowed))
	isolated := IsolatedSet(l.direction)
	if r, ok := l.rule(like, passed.and(box{subjects: []SetID{isolated}, ports: Ports{Any: true}})); ok && l.from.Set(isolated) != nil {
		out = append(out, r)
	}
	out = append(out, baseline...)
	if r, ok := l.rule(like, passed); ok {
		r.Action = Allow
		out = append(out, r)
	}
	return out
}

// distinct drops repeated rules. Their order does not matter.
func distinct(rules []Rule) []Rule {
	type peers struct {
		subject SetID
		peer    Peer
	}
	byPeers := map[peers][]Rule{}
	return slices.DeleteFunc(rules, func(r Rule) bool {
		key := peers{r.Subject, r.Peer}
		twice := slices.ContainsFunc(byPeers[key], func(o Rule) bool {
			return o.Ports.Any == r.Ports.Any && slices.Equal(o.Ports.Ranges, r.Ports.Ranges)
		})
		byPeers[key] = append(byPeers[key], r)
		return twice
	})
}

// boxOf returns what a rule of a policy matches.
func boxOf(p *Policy, r *Rule) box {
	b := box{subjects: []SetID{p.Subject}, ports: r.Ports}
	if r.Subject != "" {
		b.subjects = append(b.subjects, r.Subject)
	}
	switch r.Peer.Kind {
	case PeerAny:
	case PeerSet:
		b.peers = []SetID{r.Peer.Set}
	case PeerNone:
		b.nobody = true
	default:
		b.nobody = true
	}
	return b
}

// and returns what both match.
func (b box) and(o box) box {
	return box{
		subjects: union(b.subjects, o.subjects), peers: union(b.peers, o.peers), nobody: b.nobody || o.nobody,
		ports: b.ports.intersect(o.ports),
	}
}

// union returns the IDs in either list, sorted.
func union(a, b []SetID) []SetID {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// rule returns a rule that matches a box; false if nothing does.
func (l *lowering) rule(like Rule, b box) (Rule, bool) {
	if b.nobody || !b.ports.Any && len(b.ports.Ranges) == 0 {
		return Rule{}, false
	}
	like.Subject, like.Ports, like.Peer = l.set(b.subjects, true), b.ports, Peer{Kind: PeerAny}
	if len(b.peers) > 0 {
		like.Peer = Peer{Kind: PeerSet, Set: l.set(b.peers, false)}
	}
	return like, true
}

// set returns the intersection of sets. A single composite set gets members of its own, because the rule that now refers to it has no
// parts.
func (l *lowering) set(ids []SetID, subject bool) SetID {
	ids = union(ids, nil)
	for _, id := range ids {
		l.into.sets[id] = true
	}
	id := ids[0]
	switch {
	case len(ids) > 1:
		id = meetID(ids, subject)
	case len(l.from.partsOf(id)) == 0:
		return id
	}
	l.into.meets[id] = meetOf{ids, subject}
	return id
}

// intersect returns the ports in both.
func (p Ports) intersect(o Ports) Ports {
	switch {
	case p.Any:
		return o
	case o.Any:
		return p
	}
	var out []PortRange
	for _, a := range p.Ranges {
		for _, b := range o.Ranges {
			if first, last := max(a.First, b.First), min(a.Last, b.Last); a.Protocol == b.Protocol && first <= last {
				out = append(out, PortRange{a.Protocol, first, last})
			}
		}
	}
	return Ports{Ranges: MergePorts(out)}
}

// Overflow is a pass rule that was lowered to one that denies, because it would have needed more rules than the limit.
type Overflow struct {
	Policy PolicyID
	Path   string
}

// Overflows lists the rules of the last snapshot that deny instead of passing, in order.
func (l *Lowering) Overflows() []Overflow {
	return slices.SortedFunc(maps.Keys(l.overflows), func(a, b Overflow) int {
		return cmp.Or(cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Path, b.Path))
	})
}
