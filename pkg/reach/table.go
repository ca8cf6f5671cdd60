package reach

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

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
}

// half is one direction: what the policies of some classes, the subjects, allow to or from others, the peers.
type half struct {
	direction intent.Direction
	profile   []int   // by subject: its index among those that differ
	views     []*view // one for each profile
	mark      []int   // by peer: its index among those that are in different sets
	sets      []map[intent.SetID]bool
	marked    map[intent.SetID][]int // the marks of the peers in a set
}

// NewTable prepares the table of two lists of classes under the n-th snapshot.
func NewTable(n int, from, to []*Class) *Table {
	return &Table{
		from: from, to: to, egress: newHalf(intent.Egress, n, from, to), ingress: newHalf(intent.Ingress, n, to, from),
		numbers: map[string]int{}, egressOf: map[int][]int{}, merged: map[string]int{},
	}
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

// ingressRow is what a view admits from each mark.
func (t *Table) ingressRow(v *view) []int {
	h := t.ingress
	row := slices.Repeat([]int{t.base(v, h.direction)}, len(h.sets))
	if !v.bound[h.direction] {
		return row
	}
	for _, set := range slices.Sorted(maps.Keys(v.peers[h.direction])) {
		kind := t.number(v.peers[h.direction][set])
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
		column[p] = t.base(v, h.direction)
		if !v.bound[h.direction] {
			continue
		}
		for set, traffic := range v.peers[h.direction] {
			if h.sets[mark][set] {
				column[p] = t.union(column[p], t.number(traffic))
			}
		}
	}
	t.egressOf[mark] = column
	return column
}

// base is what a view allows to a peer that is in none of the sets that it names.
func (t *Table) base(v *view, d intent.Direction) int {
	if !v.bound[d] {
		return t.number(All())
	}
	return t.number(v.any[d])
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
func (t Traffic) key() string { return fmt.Sprint(t.Other, t.Ranges) }

func newHalf(d intent.Direction, n int, subjects, peers []*Class) *half {
	h := &half{direction: d, marked: map[intent.SetID][]int{}}
	profiles, named := map[string]int{}, map[intent.SetID]bool{}
	for _, c := range subjects {
		v := &c.views[n]
		key := v.key(d)
		p, known := profiles[key]
		if !known {
			p = len(h.views)
			profiles[key], h.views = p, append(h.views, v)
			for set := range v.peers[d] {
				named[set] = true
			}
		}
		h.profile = append(h.profile, p)
	}
	marks := map[string]int{}
	for _, c := range peers {
		in := map[intent.SetID]bool{}
		for set := range c.views[n].sets {
			if named[set] {
				in[set] = true
			}
		}
		sets := slices.Sorted(maps.Keys(in))
		key := fmt.Sprintf("%q", sets)
		m, known := marks[key]
		if !known {
			m = len(h.sets)
			marks[key], h.sets = m, append(h.sets, in)
			for _, set := range sets {
				h.marked[set] = append(h.marked[set], m)
			}
		}
		h.mark = append(h.mark, m)
	}
	return h
}

// key identifies what views allow in a direction.
func (v *view) key(d intent.Direction) string {
	if !v.bound[d] {
		return ""
	}
	var b strings.Builder
	b.WriteString("bound " + v.any[d].key())
	for _, set := range slices.Sorted(maps.Keys(v.peers[d])) {
		fmt.Fprintf(&b, " %q %s", set, v.peers[d][set].key())
	}
	return b.String()
}
