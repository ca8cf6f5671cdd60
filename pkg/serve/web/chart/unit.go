package chart

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/answers/connections"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// The parents of units that are in no opened namespace. The brackets distinguish them from namespaces.
const (
	spaces  = "(namespaces)"
	outside = "(outside)"
)

// unit is what becomes a node.
type unit struct {
	parent string // spaces, outside or an opened namespace
	names  []string
	rest   bool
	ends   int
	twice  int           // of the ends, those with several pods: there is a pair of one and itself
	shares map[int]share // by the ID of a group
	pods   []object.Key
	real   int // pods that are counted
}

// share is the part of a unit that is in one group.
type share struct {
	ends, twice int
	pods        []object.Key // two of them, of two ends if it has several
	outside     []netip.Prefix
}

// builder arranges a report.
type builder struct {
	report *connections.Report
	opened map[string]bool
	units  []*unit // in order of their first names within a parent
	byKey  map[string]*unit
	links  map[[2]int]*link // by indexes of units
}

// collect makes a unit of each namespace, each workload of an opened one, and each group of addresses.
func (b *builder) collect() {
	for i := range b.report.Groups {
		g := &b.report.Groups[i]
		for k := range g.Ends {
			e := &g.Ends[k]
			parent, name := spaces, e.Namespace
			if b.opened[e.Namespace] {
				parent, name = e.Namespace, e.Name
			}
			b.unit(parent, name).add(g.ID, e)
		}
		if len(g.Ends) == 0 && len(g.Outside) > 0 {
			u := b.unit(outside, g.Outside[0].String())
			u.ends++
			u.shares[g.ID] = share{ends: 1, outside: g.Outside}
		}
	}
	slices.SortFunc(b.units, func(x, y *unit) int {
		return cmp.Or(cmp.Compare(x.parent, y.parent), cmp.Compare(x.names[0], y.names[0]))
	})
}

func (b *builder) unit(parent, name string) *unit {
	key := parent + " " + name
	u := b.byKey[key]
	if u == nil {
		u = &unit{parent: parent, names: []string{name}, shares: map[int]share{}}
		b.byKey[key], b.units = u, append(b.units, u)
	}
	return u
}

// add adds an end of a group.
func (u *unit) add(group int, e *connections.End) {
	more := share{ends: 1, pods: e.Keys[:min(len(e.Keys), 2)]}
	if len(e.Keys) > 1 {
		more.twice = 1
	}
	u.shares[group] = u.shares[group].with(more)
	u.ends, u.twice, u.real, u.pods = u.ends+1, u.twice+more.twice, u.real+e.Pods, append(u.pods, e.Keys...)
}

func (s share) with(o share) share {
	pods := append(slices.Clip(s.pods), o.pods...)
	if s.ends > 0 && o.ends > 0 && len(s.pods) > 0 && len(o.pods) > 0 {
		pods = []object.Key{s.pods[0], o.pods[0]} // of two ends
	}
	return share{ends: s.ends + o.ends, twice: s.twice + o.twice, pods: pods, outside: append(slices.Clip(s.outside), o.outside...)}
}

// absorb makes one unit of two.
func (u *unit) absorb(o *unit) {
	u.names = append(u.names, o.names...)
	u.ends, u.twice, u.real, u.pods = u.ends+o.ends, u.twice+o.twice, u.real+o.real, append(u.pods, o.pods...)
	for group, s := range o.shares {
		u.shares[group] = u.shares[group].with(s)
	}
}

// groups are the IDs of the groups that a unit has a share of, in order.
func (u *unit) groups() []int { return slices.Sorted(maps.Keys(u.shares)) }

// pairsOf counts the pairs of ends of two units; a single pod is no pair with itself.
func pairsOf(from, to *unit) int {
	if from == to {
		return from.ends*(from.ends-1) + from.twice
	}
	return from.ends * to.ends
}

// rank orders what is outside first, then namespaces, then what is within opened ones.
func (u *unit) rank() int {
	switch u.parent {
	case outside:
		return 0
	case spaces:
		return 1
	default:
		return 2
	}
}

func (u *unit) restRank() int {
	if u.rest {
		return 1
	}
	return 0
}

// node describes a unit.
func (u *unit) node() Node {
	slices.Sort(u.names)
	n := Node{Kind: Workload, Namespace: u.parent, Names: u.names, Workloads: u.ends, Pods: u.real}
	switch u.parent {
	case spaces:
		n.Kind, n.Namespace = Namespace, ""
	case outside:
		n.Kind, n.Namespace, n.Workloads = Outside, "", 0
		for _, group := range u.groups() {
			n.Prefixes = append(n.Prefixes, u.shares[group].outside...)
		}
		n.Prefixes = intent.MergePrefixes(n.Prefixes)
		n.Names = make([]string, len(n.Prefixes))
		for i, p := range n.Prefixes {
			n.Names[i] = p.String()
		}
	}
	n.ID = string(n.Kind) + " " + u.names[0]
	if len(u.names) > 1 && n.Kind != Outside {
		n.ID, n.Kind = "several: "+n.ID, Several
	}
	if u.rest {
		n.ID = "rest of " + u.parent
		if n.Kind != Outside {
			n.Kind = Rest
		}
	}
	if more := len(n.Names) - MaxNames; more > 0 {
		n.Names, n.More = n.Names[:MaxNames], more
	}
	return n
}
