package picture

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// The measures of a picture, in pixels.
const (
	charWidth      = 7
	labelCharWidth = 6
	nodeHeight     = 24
	nodeGap        = 8
	nodePadding    = 8
	maxNode        = 360
	titleHeight    = 24
	labelHeight    = 12
	boxPadding     = 10
	boxGap         = 24
	columnGap      = 150
	margin         = 20
)

// layout is where everything is.
type layout struct {
	nodes, boxes  []rectangleOf
	column        []int // of each node
	width, height int
}

// rectangleOf is the rectangle of a node or a box.
type rectangleOf struct{ x, y, width, height int }

// layout arranges the boxes in columns: what is outside to the left, then the namespaces from top to bottom in columns of about equal
// heights, and groups to the right.
func (g *graph) layout() *layout {
	l := &layout{nodes: make([]rectangleOf, len(g.nodes)), column: make([]int, len(g.nodes))}
	x := margin
	for n, column := range g.columns() {
		width := 0
		for _, i := range column {
			width = max(width, g.boxes[i].width(g))
		}
		y := margin
		for _, i := range column {
			b := &g.boxes[i]
			l.boxes = append(l.boxes, rectangleOf{x, y, width, b.height()})
			for k, at := range b.nodes {
				l.nodes[at] = rectangleOf{x + boxPadding, y + titleHeight + boxPadding/2 + k*(nodeHeight+nodeGap), width - 2*boxPadding, nodeHeight}
				l.column[at] = n
			}
			y += b.height() + boxGap
		}
		l.height = max(l.height, y-boxGap+margin)
		x += width + columnGap
	}
	l.width = x - columnGap + margin + columnGap/2 // for arrows within the last column
	return l
}

// columns are the boxes in columns, in order.
func (g *graph) columns() [][]int {
	var spaces []int
	var first, last [][]int
	total := 0
	for i := range g.boxes {
		switch b := &g.boxes[i]; {
		case g.nodes[b.nodes[0]].group:
			last = append(last, []int{i})
		case i == 0 && b.outside:
			first = append(first, []int{i})
		default:
			spaces, total = append(spaces, i), total+b.height()+boxGap
		}
	}
	wanted := total / int(math.Ceil(math.Sqrt(float64(max(1, len(spaces))))))
	var middle [][]int
	height := 0
	for _, i := range spaces {
		if len(middle) == 0 || height >= wanted {
			middle, height = append(middle, nil), 0
		}
		middle[len(middle)-1] = append(middle[len(middle)-1], i)
		height += g.boxes[i].height() + boxGap
	}
	return append(append(first, middle...), last...)
}

func (b *box) height() int {
	return titleHeight + boxPadding + len(b.nodes)*(nodeHeight+nodeGap)
}

// width is what the names in a box need, up to a limit.
func (b *box) width(g *graph) int {
	most := utf8.RuneCountInString(b.title) * charWidth
	for _, n := range b.nodes {
		most = max(most, utf8.RuneCountInString(g.nodes[n].label)*charWidth+2*nodePadding)
	}
	return min(most, maxNode) + 2*boxPadding
}

// ends are the points at which an arrow leaves a node and reaches another, and the x of the two points that bend it.
func (l *layout) ends(from, to int) (x1, y1, x2, y2, bend1, bend2 int) {
	a, b := l.nodes[from], l.nodes[to]
	y1, y2 = a.y+a.height/2, b.y+b.height/2
	switch {
	case from == to:
		y1, y2 = y1-6, y2+6
		fallthrough
	case l.column[from] == l.column[to]:
		x1, x2 = a.x+a.width, b.x+b.width
		out := 30 + min(columnGap-60, abs(y2-y1)/4)
		return x1, y1, x2, y2, x1 + out, x2 + out
	case l.column[from] < l.column[to]:
		x1, x2 = a.x+a.width, b.x
		return x1, y1, x2, y2, x1 + columnGap/2, x2 - columnGap/2
	default:
		x1, x2 = a.x, b.x+b.width
		return x1, y1, x2, y2, x1 - columnGap/2, x2 + columnGap/2
	}
}

// curve is the path of an arrow.
func (l *layout) curve(from, to int) string {
	x1, y1, x2, y2, bend1, bend2 := l.ends(from, to)
	return fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x1, y1, bend1, y1, bend2, y2, x2, y2)
}

// label is a text beside an arrow.
type label struct {
	text string
	rectangleOf
}

// labels are texts for arrows, each at a point of its arrow where nothing else is. An arrow without such a point has none.
func (l *layout) labels(arcs []arc) []label {
	taken := slices.Clone(l.nodes)
	var out []label
	for _, a := range arcs {
		text := shortened(a.text, columnGap)
		width := utf8.RuneCountInString(text) * labelCharWidth
		for _, t := range []float64{.5, .4, .6, .3, .7, .2, .8} {
			x, y := l.point(a.from, a.to, t)
			at := rectangleOf{x - width/2, y - labelHeight/2, width, labelHeight}
			if at.x+at.width <= l.width && !slices.ContainsFunc(taken, at.overlaps) {
				taken, out = append(taken, at), append(out, label{text, at})
				break
			}
		}
	}
	return out
}

// point is that of an arrow at t, from 0 to 1.
func (l *layout) point(from, to int, t float64) (x, y int) {
	x1, y1, x2, y2, bend1, bend2 := l.ends(from, to)
	at := func(a, b, c, d int) int {
		u := 1 - t
		return int(math.Round(u*u*u*float64(a) + 3*u*u*t*float64(b) + 3*u*t*t*float64(c) + t*t*t*float64(d)))
	}
	return at(x1, bend1, bend2, x2), at(y1, y1, y2, y2)
}

func (r rectangleOf) overlaps(o rectangleOf) bool {
	return r.x < o.x+o.width && o.x < r.x+r.width && r.y < o.y+o.height && o.y < r.y+r.height
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
