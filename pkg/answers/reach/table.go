package reach

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// NoTraffic is the kind for classes of different families, between which there are no connections.
const NoTraffic = -1

// Table computes what passes between each of some classes and each of others: the results of Class.Traffic, for millions
// of pairs. What classes have in common is computed once. It is not safe for concurrent use.
type Table struct {
	from, to        []*Class
	egress, ingress *half
	kinds           []Traffic // each once
	numbers         map[string]int
	both            [][]int        // by two kinds: the number of what they have in common, from 1; 0 is not computed yet
	egressOf        map[int][]int  // by mark of a destination: what each egress profile allows to it
	merged          map[string]int // unions of kinds that a peer in several sets has
	around          map[*outcome]surroundings
	none, all       int // the numbers of no traffic and of all
}

// half is one direction: what the policies of some classes, the subjects, allow to or from others, the peers.
type half struct {
	direction intent.Direction
	profile   []int                  // by subject: its index among those that differ
	views     []*view                // one for each profile
	mark      []int                  // by peer: its index among those that are in different sets
	peers     []*view                // one for each mark
	marked    map[intent.SetID][]int // the marks of the peers in a set
}

// NewTable prepares the table of two lists of classes under the n-th snapshot.
func NewTable(n int, from, to []*Class) *Table {
	t := &Table{
		from: from, to: to, egress: newHalf(intent.Egress, n, from, to), ingress: newHalf(intent.Ingress, n, to, from),
		numbers: map[string]int{}, egressOf: map[int][]int{}, merged: map[string]int{},
		around: map[*outcome]surroundings{},
	}
	t.none, t.all = t.number(Traffic{}), t.number(All())
	return t
}

// Kind is the traffic of a number in a column.
func (t *Table) Kind(number int) Traffic { return t.kinds[number] }

// Column returns what passes to the j-th class from each: numbers of kinds, or NoTraffic. It reuses the slice it is
// given.
func (t *Table) Column(j int, reuse []int) []int {
	out := slices.Grow(reuse[:0], len(t.from))
	ingress := t.ingressRow(t.ingress.views[t.ingress.profile[j]])
	egress := t.egressColumn(t.egress.mark[j])
	for i, c := range t.from {
		if c.Family != t.to[j].Family {
			out = append(out, NoTraffic)
			continue
		}
		out = append(out, t.common(egress[t.egress.profile[i]], ingress[t.ingress.mark[i]]))
	}
	return out
}

// Sources numbers the classes that send: equal numbers mean that the same passes from them to each of the others.
func (t *Table) Sources() []int { return numbered(t.from, t.egress.profile, t.ingress.mark) }

// Targets numbers the classes that receive: equal numbers mean that the same passes to them from each of the others.
func (t *Table) Targets() []int { return numbered(t.to, t.ingress.profile, t.egress.mark) }

// numbered numbers the classes of one family with the same features, in order.
func numbered(classes []*Class, profile, mark []int) []int {
	type features struct {
		family        intent.Families
		profile, mark int
	}
	at := map[features]int{}
	out := make([]int, len(classes))
	for i, c := range classes {
		f := features{c.Family, profile[i], mark[i]}
		if _, known := at[f]; !known {
			at[f] = len(at)
		}
		out[i] = at[f]
	}
	return out
}

// ingressRow is what a view admits from each mark.
func (t *Table) ingressRow(v *view) []int {
	h := t.ingress
	s := &v.sides[h.direction]
	if s.open() {
		return slices.Repeat([]int{t.all}, len(h.peers))
	}
	row := t.unions(h, &s.allow)
	if s.union() {
		return row
	}
	deny, always := t.unions(h, &s.deny), t.unions(h, &s.always)
	for m := range row {
		row[m] = t.combine(s, h.peers[m], row[m], deny[m], always[m])
	}
	return row
}

// unions is the union of rules for each mark.
func (t *Table) unions(h *half, r *rules) []int {
	row := slices.Repeat([]int{t.number(r.any)}, len(h.peers))
	for _, set := range slices.Sorted(maps.Keys(r.peers)) {
		kind := t.number(r.peers[set])
		for _, m := range h.marked[set] {
			row[m] = t.union(row[m], kind)
		}
	}
	return row
}

// egressColumn is what each profile lets out to a mark.
func (t *Table) egressColumn(mark int) []int {
	if known := t.egressOf[mark]; known != nil {
		return known
	}
	h := t.egress
	column := make([]int, len(h.views))
	for p, v := range h.views {
		s, peer := &v.sides[h.direction], h.peers[mark]
		if s.open() {
			column[p] = t.all
			continue
		}
		if s.union() {
			column[p] = t.with(&s.allow, peer)
			continue
		}
		column[p] = t.combine(s, peer, t.with(&s.allow, peer), t.with(&s.deny, peer), t.with(&s.always, peer))
	}
	t.egressOf[mark] = column
	return column
}

// with is the union of rules for a peer.
func (t *Table) with(r *rules, peer *view) int {
	out := t.number(r.any)
	for set, traffic := range r.peers {
		if peer.sets[set] {
			out = t.union(out, t.number(traffic))
		}
	}
	return out
}

// combine is view.allows, in numbers, for what rules say about a peer.
func (t *Table) combine(s *side, peer *view, allow, deny, always int) int {
	out, around := allow, surroundings{baseline: t.all}
	if s.around != nil {
		around = t.surroundingsOf(s.around.outcomeFor(peer))
	}
	if !s.bound {
		out = t.union(out, around.baseline)
	}
	if deny != t.none {
		out = t.common(out, t.number(t.kinds[deny].complement()))
	}
	if s.around != nil {
		out = t.union(t.common(out, around.rest), around.allowed)
	}
	if always != t.none {
		out = t.union(out, always)
	}
	return out
}

// surroundings is an outcome in numbers.
type surroundings struct{ allowed, rest, baseline int }

func (t *Table) surroundingsOf(o *outcome) surroundings {
	known, ok := t.around[o]
	if !ok {
		known = surroundings{t.number(o.allowed), t.number(o.rest), t.number(o.baseline)}
		t.around[o] = known
	}
	return known
}

// number finds the number of a traffic, and assigns one the first time.
func (t *Table) number(traffic Traffic) int {
	key := traffic.key()
	n, known := t.numbers[key]
	if !known {
		n = len(t.kinds)
		t.kinds, t.numbers[key] = append(t.kinds, traffic), n
	}
	return n
}

func (t *Table) union(a, b int) int {
	if a == b {
		return a
	}
	key := string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(a)), uint64(b))) //nolint:gosec // indexes
	n, known := t.merged[key]
	if !known {
		n = t.number(t.kinds[a].Union(t.kinds[b]))
		t.merged[key] = n
	}
	return n
}

// common is the number of what two kinds have in common.
func (t *Table) common(a, b int) int {
	if a == b {
		return a
	}
	for len(t.both) <= a {
		t.both = append(t.both, nil)
	}
	if missing := b + 1 - len(t.both[a]); missing > 0 {
		t.both[a] = append(t.both[a], make([]int, missing)...)
	}
	if t.both[a][b] == 0 {
		t.both[a][b] = t.number(t.kinds[a].Intersect(t.kinds[b])) + 1
	}
	return t.both[a][b] - 1
}

// key identifies traffic.
func (t Traffic) key() string {
	b := make([]byte, 1, 1+5*len(t.Ranges))
	if t.Other {
		b[0] = 1
	}
	for _, r := range t.Ranges {
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(append(b, byte(r.Protocol)), r.First), r.Last)
	}
	return string(b)
}

func newHalf(d intent.Direction, n int, subjects, peers []*Class) *half {
	h := &half{direction: d, marked: map[intent.SetID][]int{}}
	profiles, named := map[string]int{}, map[intent.SetID]bool{}
	for _, c := range subjects {
		v := &c.views[n]
		key := v.sides[d].key()
		p, known := profiles[key]
		if !known {
			p = len(h.views)
			profiles[key], h.views = p, append(h.views, v)
			v.sides[d].name(named)
		}
		h.profile = append(h.profile, p)
	}
	marks := map[string]int{}
	for _, c := range peers {
		var sets []intent.SetID
		for set := range c.views[n].sets {
			if named[set] {
				sets = append(sets, set)
			}
		}
		slices.Sort(sets)
		key := fmt.Sprintf("%q", sets)
		m, known := marks[key]
		if !known {
			m = len(h.peers)
			marks[key], h.peers = m, append(h.peers, &c.views[n])
			for _, set := range sets {
				h.marked[set] = append(h.marked[set], m)
			}
		}
		h.mark = append(h.mark, m)
	}
	return h
}

// name adds the sets that the rules of a side name as peers.
func (s *side) name(sets map[intent.SetID]bool) {
	for _, r := range []*rules{&s.allow, &s.deny, &s.always} {
		for set := range r.peers {
			sets[set] = true
		}
	}
	if s.around != nil {
		for i := range s.around.steps {
			sets[s.around.steps[i].set] = true
		}
	}
}

// key identifies what sides allow.
func (s *side) key() string {
	if s.open() {
		return ""
	}
	var b []byte
	write := func(text string) { b = append(binary.AppendUvarint(b, uint64(len(text))), text...) }
	if s.bound {
		b = append(b, 1)
	}
	for _, r := range []*rules{&s.allow, &s.deny, &s.always} {
		write(r.any.key())
		b = binary.AppendUvarint(b, uint64(len(r.peers)))
		for _, set := range slices.Sorted(maps.Keys(r.peers)) {
			write(string(set))
			write(r.peers[set].key())
		}
	}
	if s.around != nil {
		write(s.around.key)
	}
	return string(b)
}
