package connections

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxArcs is how many arrows between single workloads a picture has at most. If there are more, its arrows are between groups, and lines
// without a head join these with their members.
const maxArcs = 300

// graph is a report as nodes and arcs.
type graph struct {
	nodes []node // by index
	boxes []box
	arcs  []arc
	joins [][2]int // groups and their members
}

// box is nodes that are drawn together: those of a namespace, addresses outside, or groups.
type box struct {
	title   string
	nodes   []int
	outside bool
}

// node is an end, the addresses of a group outside or, in a picture with groups, a group of ends.
type node struct {
	label, title string // the title is not shortened
	group        bool
}

// arc is a connection between two nodes.
type arc struct {
	from, to int
	ports    string
}

// The titles of the boxes that are no namespaces.
const (
	outsideTitle = "outside"
	groupsTitle  = "groups of workloads"
)

// drawn makes a graph of a report. The order of everything in it depends on the report only.
func (r *Report) drawn() *graph {
	g := &graph{}
	spaces := map[string]*box{}
	outside, groups := &box{title: outsideTitle, outside: true}, &box{title: groupsTitle}
	members, hub := make([][]int, len(r.Groups)), make([]int, len(r.Groups))
	grouped := r.pairs() > maxArcs
	for i := range r.Groups {
		of := &r.Groups[i]
		if len(of.Ends) == 0 {
			hub[i] = g.add(outside, outsideNode(of))
			members[i] = []int{hub[i]}
			continue
		}
		for k := range of.Ends {
			e := &of.Ends[k]
			if spaces[e.Namespace] == nil {
				spaces[e.Namespace] = &box{title: e.Namespace}
			}
			members[i] = append(members[i], g.add(spaces[e.Namespace], node{label: strings.TrimPrefix(e.Name, e.Namespace+"/"), title: e.Name}))
		}
		hub[i] = members[i][0]
		if grouped && len(of.Ends) > 1 {
			name := fmt.Sprintf("group %d (%s)", of.ID, counted(len(of.Ends), "workload"))
			hub[i] = g.add(groups, node{label: name, title: name, group: true})
			for _, n := range members[i] {
				g.joins = append(g.joins, [2]int{hub[i], n})
			}
		}
	}
	for _, b := range append(append([]*box{outside}, sortedBoxes(spaces)...), groups) {
		if len(b.nodes) > 0 {
			g.boxes = append(g.boxes, *b)
		}
	}
	ports := map[[2]int][]string{}
	for i := range r.Connections {
		c := &r.Connections[i]
		text := c.Ports
		if c.Family != "" {
			text = c.Family + ": " + text
		}
		if grouped {
			between := [2]int{hub[c.From-1], hub[c.To-1]}
			ports[between] = append(ports[between], text)
			continue
		}
		for a, from := range members[c.From-1] {
			for _, to := range members[c.To-1] {
				if from != to || r.Groups[c.From-1].Ends[a].count > 1 {
					ports[[2]int{from, to}] = append(ports[[2]int{from, to}], text)
				}
			}
		}
	}
	for between, texts := range ports {
		g.arcs = append(g.arcs, arc{between[0], between[1], strings.Join(texts, "; ")})
	}
	slices.SortFunc(g.arcs, func(a, b arc) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return g
}

// pairs counts the connections between single ends.
func (r *Report) pairs() int {
	n := 0
	for i := range r.Connections {
		n += max(1, len(r.group(r.Connections[i].From).Ends)) * max(1, len(r.group(r.Connections[i].To).Ends))
	}
	return n
}

func (g *graph) add(to *box, n node) int {
	g.nodes, to.nodes = append(g.nodes, n), append(to.nodes, len(g.nodes))
	return len(g.nodes) - 1
}

func sortedBoxes(spaces map[string]*box) []*box {
	out := make([]*box, 0, len(spaces))
	for _, namespace := range slices.Sorted(maps.Keys(spaces)) {
		out = append(out, spaces[namespace])
	}
	return out
}

// outsideNode is the addresses of a group outside.
func outsideNode(g *Group) node {
	all := make([]string, len(g.Outside))
	for i, p := range g.Outside {
		all[i] = p.String()
	}
	label, whole := prefixText(g.Outside)
	if !whole {
		label = counted(len(all), "block")
	}
	return node{label: label, title: strings.Join(all, ", ")}
}
