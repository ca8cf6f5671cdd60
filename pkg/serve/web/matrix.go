package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
)

// Matrix shows which groups can reach which: from each row to each column.
type Matrix struct {
	Revision    intent.Revision `json:"revision"`
	Number      uint64          `json:"number"` // of the state
	Port        string          `json:"port,omitempty"`
	Rows        []*Group        `json:"rows"`
	Columns     []*Group        `json:"columns"`
	RowsAt      int             `json:"rowsAt,omitempty"` // how many rows are left out before these
	ColumnsAt   int             `json:"columnsAt,omitempty"`
	MoreRows    int             `json:"moreRows,omitempty"` // and after them
	MoreColumns int             `json:"moreColumns,omitempty"`
	States      []CellState     `json:"states"`            // all that cells are in
	Cells       [][]int         `json:"cells"`             // by row and column: an index into States
	Unknown     []string        `json:"unknown,omitempty"` // what is not evaluated, and decides on some of the cells
}

// CellState is the traffic from all of a row to all of a column.
type CellState struct {
	Verdict CellVerdict `json:"verdict"`
	// Traffic is what policies allow, possibly different between different pods, as formatted by reach.Traffic: the first
	// shownTraffic.
	Traffic []string `json:"traffic,omitempty"`
	More    bool     `json:"moreTraffic,omitempty"`
	// Open means that everything is allowed only because no NetworkPolicy isolates either end.
	Open bool `json:"open,omitempty"`
}

// CellVerdict is the verdict of a cell in a word.
type CellVerdict string

// The verdicts of cells. Partly is some pods, or some ports. Itself is one pod and itself, which no policy separates. None
// is for cells without a connection to judge: from outside to outside, or without an address family in common. Unknown is for cells on which
// something decides that netloom does not evaluate.
const (
	CellAllowed CellVerdict = "allowed"
	CellPartly  CellVerdict = "partly"
	CellDenied  CellVerdict = "denied"
	CellItself  CellVerdict = "itself"
	CellNone    CellVerdict = "none"
	CellUnknown CellVerdict = "unknown"
)

const (
	maxGroups    = 100 // on a side of the matrix
	shownTraffic = 3
)

// view is a request for the matrix.
type view struct {
	from, to          axis
	rowsAt, columnsAt int
	port              *asked
}

// asked is one protocol and port.
type asked struct {
	protocol intent.Protocol
	number   uint16
}

func (h *Handler) matrix(r *http.Request, b *board) (any, error) {
	return b.matrices.answer(r.URL.RawQuery, func() (any, error) { return b.matrix(r.URL.Query()) })
}

func (b *board) matrix(q url.Values) (any, error) {
	v, err := readView(q)
	if err != nil {
		return nil, err
	}
	g := b.ground()
	if err := g.check("from", v.from); err != nil {
		return nil, err
	}
	if err := g.check("to", v.to); err != nil {
		return nil, err
	}
	rows, columns := g.groups(v.from), g.groups(v.to)
	m := &Matrix{
		Revision: b.state.Snapshot.Revision(), Number: b.state.Number, Port: q.Get("port"),
		RowsAt: min(v.rowsAt, len(rows)), ColumnsAt: min(v.columnsAt, len(columns)), Cells: [][]int{},
	}
	m.Rows, m.MoreRows = cut(rows[m.RowsAt:], maxGroups)
	m.Columns, m.MoreColumns = cut(columns[m.ColumnsAt:], maxGroups)
	m.fill(g, v.port, b.unjudged())
	m.Unknown = b.state.Reading.Doubts()
	return m, nil
}

// readView reads the parameters of a request.
func readView(q url.Values) (view, error) {
	v := view{from: axis{namespace: q.Get("from")}, to: axis{namespace: q.Get("to")}}
	var err error
	read := func(name string, take func(text string) error) {
		if text := strings.TrimSpace(q.Get(name)); text != "" && err == nil {
			err = take(text)
		}
	}
	selector := func(name string, a *axis) {
		read(name, func(text string) error {
			selector, err := labels.Parse(text)
			if err != nil {
				return fmt.Errorf("%s: %q: expected labels such as app=web,tier!=db: %w", name, text, err)
			}
			a.selector = selector
			return nil
		})
	}
	number := func(name string, n *int) {
		read(name, func(text string) error {
			number, err := strconv.ParseUint(text, 10, 31)
			if err != nil {
				return fmt.Errorf("%s: %q: expected a number", name, text)
			}
			*n = int(number)
			return nil
		})
	}
	selector("fromLabels", &v.from)
	selector("toLabels", &v.to)
	number("rowsAt", &v.rowsAt)
	number("columnsAt", &v.columnsAt)
	read("port", func(text string) error {
		port, err := readPort(text)
		v.port = &port
		return err
	})
	return v, err
}

// readPort reads tcp/80, udp/53, sctp/9999, icmp, or 80, which is TCP.
func readPort(text string) (asked, error) {
	protocol, number, both := strings.Cut(strings.ToLower(strings.TrimSpace(text)), "/")
	if protocol == "icmp" && !both {
		return asked{protocol: intent.ICMP}, nil
	}
	if !both {
		protocol, number = "tcp", protocol
	}
	n, err := strconv.ParseUint(number, 10, 16)
	for _, p := range []intent.Protocol{intent.TCP, intent.UDP, intent.SCTP} {
		if err == nil && n > 0 && protocol == p.String() {
			return asked{p, uint16(n)}, nil
		}
	}
	return asked{}, fmt.Errorf("port: %q: expected tcp/80, udp/53, sctp/9999 or icmp", text)
}

// check fails if an axis zooms into what does not exist.
func (g *ground) check(side string, a axis) error {
	if a.namespace == "" || a.namespace == allOutside {
		return nil
	}
	_, there := slices.BinarySearchFunc(g.pods, a.namespace, func(p groundPod, ns string) int {
		return strings.Compare(p.Key.Namespace, ns)
	})
	if !there {
		return fmt.Errorf("%s: namespace %s with a pod: %w", side, a.namespace, name.ErrNotFound)
	}
	return nil
}

// cell is the traffic from a row to a column found so far.
type cell struct {
	kinds        []int // each once, at most one more than are shown
	some, others bool  // with a port: some pods are allowed, others are not
	itself       bool
	isolated     bool // some pods of the row are isolated for egress, or of the column for ingress
	unknown      bool // something decides on it that is not evaluated
}

// fill works out every cell from the classes of its row and its column.
func (m *Matrix) fill(g *ground, port *asked, unjudged *world.Unjudged) {
	from, rowsOf := classesOf(g, m.Rows)
	to, columnsOf := classesOf(g, m.Columns)
	cells := make([]cell, len(m.Rows)*len(m.Columns))
	table := reach.NewTable(0, from.classes, to.classes)
	var column []int
	for j, numberTo := range to.numbers {
		column = table.Column(j, column)
		for i, kind := range column {
			if kind == reach.NoTraffic {
				continue
			}
			numberFrom := from.numbers[i]
			for _, r := range rowsOf[numberFrom] {
				for _, c := range columnsOf[numberTo] {
					row, col := m.Rows[r], m.Columns[c]
					if row.Kind == OfOutside && col.Kind == OfOutside {
						continue
					}
					at := &cells[r*len(m.Columns)+c]
					if numberFrom == numberTo && row.held[numberTo] == col.held[numberTo] && row.held[numberTo].pods == 1 {
						at.itself = true
						continue
					}
					at.isolated = at.isolated || from.classes[i].Isolated(0, intent.Egress) || to.classes[j].Isolated(0, intent.Ingress)
					at.add(kind, port, table)
				}
			}
		}
	}
	for r, row := range m.Rows {
		for c, column := range m.Columns {
			cells[r*len(m.Columns)+c].unknown = unjudged.Concerns(row.namespace()) || unjudged.Concerns(column.namespace())
		}
	}
	m.describe(cells, port != nil, table)
}

func (c *cell) add(kind int, port *asked, table *reach.Table) {
	if slices.Contains(c.kinds, kind) || len(c.kinds) > shownTraffic && port == nil {
		return
	}
	if len(c.kinds) <= shownTraffic {
		c.kinds = append(c.kinds, kind)
	}
	if port == nil {
		return
	}
	if table.Kind(kind).Has(port.protocol, port.number) {
		c.some = true
	} else {
		c.others = true
	}
}

// part is some of the classes, with their numbers among all.
type part struct {
	classes []*reach.Class
	numbers []int
}

// classesOf returns the classes of some groups, and the indices of the groups that each is in.
func classesOf(g *ground, groups []*Group) (part, map[int][]int) {
	at := map[int][]int{}
	var p part
	for i, group := range groups {
		for _, c := range group.classes {
			if at[c] == nil {
				p.classes, p.numbers = append(p.classes, g.classes[c]), append(p.numbers, c)
			}
			at[c] = append(at[c], i)
		}
	}
	return p, at
}

// describe describes each distinct cell once.
func (m *Matrix) describe(cells []cell, byPort bool, table *reach.Table) {
	numbers := map[string]int{}
	m.States = []CellState{}
	for r := range m.Rows {
		row := make([]int, len(m.Columns))
		for c := range m.Columns {
			state := cells[r*len(m.Columns)+c].state(byPort, table)
			key := fmt.Sprint(state)
			n, known := numbers[key]
			if !known {
				n = len(m.States)
				numbers[key], m.States = n, append(m.States, state)
			}
			row[c] = n
		}
		m.Cells = append(m.Cells, row)
	}
}

// state is what is shown of the cell.
func (c *cell) state(byPort bool, table *reach.Table) CellState {
	s := c.policed(byPort, table)
	if c.unknown && s.Verdict != CellItself && s.Verdict != CellNone {
		s.Verdict, s.Open = CellUnknown, false
	}
	return s
}

// policed is the state of the cell as far as policies decide it.
func (c *cell) policed(byPort bool, table *reach.Table) CellState {
	switch {
	case len(c.kinds) == 0 && c.itself:
		return CellState{Verdict: CellItself}
	case len(c.kinds) == 0:
		return CellState{Verdict: CellNone}
	case byPort && c.some && c.others:
		return CellState{Verdict: CellPartly}
	case byPort && c.some:
		return CellState{Verdict: CellAllowed, Open: !c.isolated}
	case byPort:
		return CellState{Verdict: CellDenied}
	}
	s := CellState{Verdict: CellPartly}
	kinds, more := cut(c.kinds, shownTraffic)
	for _, k := range kinds {
		s.Traffic = append(s.Traffic, table.Kind(k).String())
	}
	slices.Sort(s.Traffic)
	s.More = more > 0
	if len(c.kinds) == 1 {
		switch only := table.Kind(c.kinds[0]); {
		case only.Empty():
			s.Verdict = CellDenied
		case only.Equal(reach.All()):
			s.Verdict, s.Open = CellAllowed, !c.isolated
		}
	}
	return s
}
