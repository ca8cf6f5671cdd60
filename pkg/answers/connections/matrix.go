package connections

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/netloom/netloom/pkg/answers/reach"
)

// matrix computes what passes between kinds of ends.
type matrix struct {
	*survey
	table   *reach.Table // of traits
	columns [2][]int     // of the trait of a destination, by family; reused
	single  []int        // by number of the table, and 1: the passage, and 1
	double  map[[2]int]int
	numbers map[string]int
	all     []passages // by number; number 0 is none
}

// passages are what passes from one end to another: one, or one for each family.
type passages []passage

type passage struct {
	family, ports string
	traffic       *reach.Traffic
}

func newMatrix(s *survey) *matrix {
	return &matrix{
		survey: s, table: reach.NewTable(0, s.classes, s.classes), double: map[[2]int]int{}, numbers: map[string]int{"": 0}, all: make([]passages, 1),
	}
}

// unit is kinds of ends that allow the same with all others.
type unit struct {
	first   *kind
	column  []byte // what passes to it: see entries
	ends    []End
	pods    int
	outside []reach.Place
}

// list lists groups of ends, and what passes between them.
func (m *matrix) list() ([]Group, []Connection) {
	units := m.units()
	var places []reach.Place
	for _, u := range units {
		places = append(places, u.outside...)
	}
	areas := reach.AreasOf(places)
	groups, connections := []Group{}, []Connection{}
	shown := map[*unit]bool{} // those that are in a connection
	type edge struct {
		from, to *unit
		passages passages
	}
	var edges []edge
	of := map[*kind]*unit{} // those that represent a unit
	for _, u := range units {
		of[u.first] = u
	}
	for _, to := range units {
		for i, n := range entries(to.column) {
			from := of[m.kinds[i]]
			if from == nil || from == to && from.pods < 2 {
				continue
			}
			edges = append(edges, edge{from, to, m.all[n]})
			shown[from], shown[to] = true, true
		}
	}
	id := map[*unit]int{}
	for _, u := range units {
		if !shown[u] && (len(u.ends) == 0 || !m.filter.all()) {
			continue
		}
		id[u] = len(groups) + 1
		groups = append(groups, Group{ID: id[u], Ends: u.ends, Outside: areas.Of(u.outside), pods: u.pods})
	}
	for _, e := range edges {
		for _, p := range e.passages {
			connections = append(connections, Connection{From: id[e.from], To: id[e.to], Ports: p.ports, Family: p.family, traffic: p.traffic})
		}
	}
	slices.SortStableFunc(connections, func(a, b Connection) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	return groups, connections
}

// units groups kinds: those from which the same passes to each other kind, and to which the same passes from each.
func (m *matrix) units() []*unit {
	rows, columns := make([]int, len(m.kinds)), make([][sha256.Size]byte, len(m.kinds))
	known := map[[sha256.Size]byte][]byte{} // each column once: they can be long
	last, column := 0, []byte{}             // the last of the numbers in rows
	for j, to := range m.kinds {
		if !to.trait.to {
			continue
		}
		m.turnTo(to)
		finer := map[[2]int]int{} // only of sources from which anything passes: the others remain as they are
		column = column[:0]
		for i, from := range m.kinds {
			if !from.trait.from {
				continue
			}
			n := m.passing(from, to)
			if n == 0 {
				continue
			}
			column = binary.AppendUvarint(binary.AppendUvarint(column, uint64(i)), uint64(n)) //nolint:gosec // indexes
			at := [2]int{rows[i], n}
			if finer[at] == 0 {
				last++
				finer[at] = last
			}
			rows[i] = finer[at]
		}
		columns[j] = sha256.Sum256(column)
		if _, have := known[columns[j]]; !have {
			known[columns[j]] = slices.Clone(column)
		}
	}
	type behavior struct {
		row               int
		column            [sha256.Size]byte
		outside, from, to bool
	}
	at := map[behavior]*unit{}
	var out []*unit
	for i, k := range m.kinds {
		b := behavior{rows[i], columns[i], k.trait.outside, k.trait.from, k.trait.to}
		u := at[b]
		if u == nil {
			u = &unit{first: k, column: known[columns[i]]}
			at[b], out = u, append(out, u)
		}
		u.ends, u.pods, u.outside = append(u.ends, k.ends...), u.pods+k.pods, append(u.outside, k.standing...)
	}
	return settled(out)
}

// settled leaves out units that are no ends of connections, and sorts the others by their members, those outside last.
func settled(units []*unit) []*unit {
	out := slices.DeleteFunc(units, func(u *unit) bool { return !u.first.trait.from && !u.first.trait.to })
	for _, u := range out {
		sortEnds(u.ends)
		slices.SortFunc(u.outside, reach.Place.Compare)
	}
	slices.SortFunc(out, func(a, b *unit) int {
		switch {
		case len(a.ends) > 0 && len(b.ends) > 0:
			return cmp.Compare(a.ends[0].Name, b.ends[0].Name)
		case len(a.ends)+len(b.ends) > 0:
			return cmp.Compare(len(b.ends), len(a.ends))
		}
		return a.outside[0].Compare(b.outside[0])
	})
	return out
}

// entries yields the indexes of kinds from which anything passes to another, and the numbers of what passes.
func entries(column []byte) iter.Seq2[int, int] {
	return func(yield func(kind, number int) bool) {
		for len(column) > 0 {
			kind, size := binary.Uvarint(column)
			number, more := binary.Uvarint(column[size:])
			column = column[size+more:]
			if !yield(int(kind), int(number)) { //nolint:gosec // indexes
				return
			}
		}
	}
}

// turnTo prepares for what passes to a kind.
func (m *matrix) turnTo(to *kind) {
	for family, t := range to.key {
		if t != noTrait {
			m.columns[family] = m.table.Column(t, m.columns[family])
		}
	}
}

// passing is the number of what passes from a kind to the one that was turned to.
func (m *matrix) passing(from, to *kind) int {
	if from.trait.outside && to.trait.outside || !from.trait.of && !to.trait.of {
		return 0
	}
	kinds, common := [2]int{reach.NoTraffic, reach.NoTraffic}, 0
	for family := range kinds {
		if from.key[family] == noTrait || to.key[family] == noTrait {
			continue
		}
		common++
		if !m.filter.Policed || from.sends[family] || to.admits[family] {
			kinds[family] = m.columns[family][from.key[family]]
		}
	}
	switch {
	case common == 2:
		n, known := m.double[kinds]
		if !known {
			n = m.number(kinds, true)
			m.double[kinds] = n
		}
		return n
	case kinds[0] != reach.NoTraffic:
		return m.one(kinds[0])
	case kinds[1] != reach.NoTraffic:
		return m.one(kinds[1])
	}
	return 0
}

// one is the number of a kind of traffic of ends that have one family in common.
func (m *matrix) one(kind int) int {
	for len(m.single) <= kind {
		m.single = append(m.single, 0)
	}
	if m.single[kind] == 0 {
		m.single[kind] = m.number([2]int{kind, reach.NoTraffic}, false) + 1
	}
	return m.single[kind] - 1
}

// number numbers what passes over one family, or over two.
func (m *matrix) number(kinds [2]int, both bool) int {
	var ports [2]string
	var all [2]*reach.Traffic
	for family, kind := range kinds {
		if kind == reach.NoTraffic {
			continue
		}
		traffic := m.table.Kind(kind)
		if !m.filter.Port.Empty() {
			traffic = traffic.Intersect(m.filter.Port)
		}
		if !traffic.Empty() {
			ports[family], all[family] = Ports(traffic), &traffic
		}
	}
	var list passages
	switch {
	case !both || ports[0] == ports[1]:
		list = passages{{"", ports[0], all[0]}}
	default:
		list = passages{{"IPv4", ports[0], all[0]}, {"IPv6", ports[1], all[1]}}
	}
	list = slices.DeleteFunc(list, func(p passage) bool { return p.ports == "" })
	key := ""
	for _, p := range list {
		key += p.family + " " + p.ports + "|"
	}
	n, known := m.numbers[key]
	if !known {
		n = len(m.all)
		m.all, m.numbers[key] = append(m.all, list), n
	}
	return n
}
