package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/pkg/answers/reach"
)

// matrix counts the connections between namespaces.
func (a *auditor) matrix() {
	a.out.Matrix = []Cell{}
	names := slices.Sorted(maps.Keys(a.spaces))
	if len(names) > maxNamespaces {
		a.out.NotExamined = append(a.out.NotExamined,
			fmt.Sprintf("connections of %d namespaces, from %s on: the matrix has at most %d", len(names)-maxNamespaces, names[maxNamespaces], maxNamespaces))
		names = names[:maxNamespaces]
		for _, held := range a.held {
			maps.DeleteFunc(held, func(name string, _ tally) bool { return name > names[maxNamespaces-1] })
		}
	}
	cells := map[[2]string]*Cell{}
	kinds := map[[2]string]map[int]bool{}
	for _, from := range names {
		for _, to := range names {
			cells[[2]string{from, to}] = &Cell{From: from, To: to}
			kinds[[2]string{from, to}] = map[int]bool{}
		}
	}
	table := reach.NewTable(0, a.inside, a.inside)
	var column []int
	for j := range a.inside {
		column = table.Column(j, column)
		for i, kind := range column {
			if kind == reach.NoTraffic {
				continue
			}
			for from, n := range a.held[i] {
				for to, m := range a.held[j] {
					at := [2]string{from, to}
					c := cells[at]
					pairs := n.addrs * m.addrs
					if i == j && from == to {
						pairs = n.pairs
					}
					c.Pairs += pairs
					if !table.Kind(kind).Empty() {
						c.Allowed += pairs
						kinds[at][kind] = true
					}
				}
			}
		}
	}
	for at, c := range cells {
		if c.Allowed == 0 {
			continue
		}
		for kind := range kinds[at] {
			c.Traffic = append(c.Traffic, table.Kind(kind).String())
		}
		slices.Sort(c.Traffic)
		if len(c.Traffic) > maxTraffic {
			c.Traffic, c.More = c.Traffic[:maxTraffic], true
		}
		a.out.Matrix = append(a.out.Matrix, *c)
	}
	slices.SortFunc(a.out.Matrix, func(x, y Cell) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To)) })
}

// tally is a number of addresses of pods. Equal pods that stand for a workload have one.
type tally struct {
	addrs int
	// pairs are those between two of them, in both directions, and those between equal pods of one workload.
	pairs int
}

// add adds the address of another pod; again says that one of an equal pod is counted.
func (t tally) add(again bool) tally {
	if again {
		t.pairs++
		return t
	}
	t.pairs += 2 * t.addrs
	t.addrs++
	return t
}
