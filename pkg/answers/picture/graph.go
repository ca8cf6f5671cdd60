package picture

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// maxArcs is how many arrows between single ends a picture has at most. If there are more, its arrows are between groups, and lines without
// a head join these with their members.
const maxArcs = 300

// graph is a picture as nodes and arcs.
type graph struct {
	nodes []node // by index
	boxes []box
	arcs  []arc
	joins [][2]int // groups and their members
}

// box is nodes that are drawn together.
type box struct {
	title   string
	nodes   []int
	outside bool
}

// node is an end or, in a picture with groups, a group of ends.
type node struct {
	label, title string
	group        bool
}

// arc is a connection between two nodes.
type arc struct {
	from, to int
	text     string
	kind     Kind
}

// The titles of the boxes that the picture adds.
const (
	outsideTitle = "outside"
	groupsTitle  = "groups"
)

// drawing makes a graph.
type drawing struct {
	*Picture
	graph
	known           map[Member]int // without label and Several
	spaces          map[string]*box
	outside, groups *box
	members         [][]int // of each group: nodes
	hub             []int   // of each group: the node of its arrows, if they are between groups
}

// drawn makes a graph of a picture. The order of everything in it depends on the picture only.
func (p *Picture) drawn() *graph {
	d := &drawing{
		Picture: p, known: map[Member]int{}, spaces: map[string]*box{}, outside: &box{title: outsideTitle, outside: true}, groups: &box{title: groupsTitle},
	}
	for i := range p.Groups {
		var nodes []int
		for k := range p.Groups[i].Members {
			nodes = append(nodes, d.node(&p.Groups[i].Members[k]))
		}
		d.members = append(d.members, nodes)
	}
	grouped := p.pairs() > maxArcs
	if grouped {
		d.addHubs()
	}
	boxes := []*box{d.outside}
	for _, title := range slices.Sorted(maps.Keys(d.spaces)) {
		boxes = append(boxes, d.spaces[title])
	}
	for _, b := range append(boxes, d.groups) {
		if len(b.nodes) > 0 {
			d.boxes = append(d.boxes, *b)
		}
	}
	d.addArcs(grouped)
	return &d.graph
}

// pairs counts the links between single members.
func (p *Picture) pairs() int {
	n := 0
	for i := range p.Links {
		n += len(p.Groups[p.Links[i].From].Members) * len(p.Groups[p.Links[i].To].Members)
	}
	return n
}

// node is the node of a member.
func (d *drawing) node(m *Member) int {
	key := Member{Box: m.Box, Outside: m.Outside, Title: m.Title}
	n, known := d.known[key]
	if known {
		return n
	}
	in := d.outside
	if !m.Outside {
		if d.spaces[m.Box] == nil {
			d.spaces[m.Box] = &box{title: m.Box}
		}
		in = d.spaces[m.Box]
	}
	n = d.add(in, node{label: m.Label, title: m.Title})
	d.known[key] = n
	return n
}

func (d *drawing) add(to *box, n node) int {
	d.nodes, to.nodes = append(d.nodes, n), append(to.nodes, len(d.nodes))
	return len(d.nodes) - 1
}

// addHubs adds a node for each group of several members.
func (d *drawing) addHubs() {
	for i := range d.Groups {
		nodes, name := d.members[i], d.Groups[i].Name
		if len(nodes) == 1 {
			d.hub = append(d.hub, nodes[0])
			continue
		}
		hub := d.add(d.groups, node{label: name, title: name, group: true})
		d.hub = append(d.hub, hub)
		for _, n := range nodes {
			d.joins = append(d.joins, [2]int{hub, n})
		}
	}
}

// addArcs adds what links say, with one arc for all of a kind between two nodes.
func (d *drawing) addArcs(grouped bool) {
	texts := map[arc][]string{} // by an arc without text
	for _, l := range d.Links {
		if grouped {
			at := arc{from: d.hub[l.From], to: d.hub[l.To], kind: l.Kind}
			texts[at] = append(texts[at], l.Text)
			continue
		}
		for k, from := range d.members[l.From] {
			for _, to := range d.members[l.To] {
				if from != to || d.Groups[l.From].Members[k].Several {
					at := arc{from: from, to: to, kind: l.Kind}
					texts[at] = append(texts[at], l.Text)
				}
			}
		}
	}
	for at, list := range texts {
		at.text = strings.Join(list, "; ")
		d.arcs = append(d.arcs, at)
	}
	slices.SortFunc(d.arcs, func(a, b arc) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.kind, b.kind))
	})
}
