package chart

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/answers/connections"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/object"
)

// Limits of a chart.
const (
	MaxOpen    = 8   // namespaces that are opened
	MaxSpaces  = 60  // nodes for namespaces
	MaxWithin  = 40  // nodes for the workloads of an opened namespace
	MaxOutside = 12  // nodes for addresses outside
	MaxLinks   = 600 // between them
	MaxNames   = 8   // members that a node names
	MaxPorts   = 3   // texts about ports that a link has
)

const (
	few      = 12  // up to which nodes that are linked alike each stand for themselves
	maxUnits = 150 // between which links are sought, of each parent
)

// Chart is nodes and what is allowed between them.
type Chart struct {
	Nodes     []Node
	Links     []Link
	MoreLinks int // that are left out: those between the fewest ends

	podAt map[object.Key]int
	areas []area
}

// area is addresses outside that belong to a node. Areas do not overlap.
type area struct {
	prefix netip.Prefix
	node   int
}

// Kind is what a node stands for.
type Kind string

// The kinds of nodes. Several is namespaces, or workloads of one, that are linked alike, and Rest is the smallest ones, linked in any way.
const (
	Namespace Kind = "namespace"
	Workload  Kind = "workload"
	Outside   Kind = "outside"
	Several   Kind = "several"
	Rest      Kind = "rest"
)

// Node is a namespace, a workload, addresses outside, or several of them.
type Node struct {
	ID        string   `json:"id"` // the same for the same members
	Kind      Kind     `json:"kind"`
	Namespace string   `json:"namespace,omitempty"` // that is opened and has it; "" for a namespace
	Names     []string `json:"names"`               // of its members: namespaces, workloads or prefixes; the first MaxNames
	More      int      `json:"moreNames,omitempty"`
	Workloads int      `json:"workloads,omitempty"`
	Pods      int      `json:"pods,omitempty"`

	Prefixes []netip.Prefix `json:"-"` // all addresses outside, in order
}

// Link is what is allowed from the ends of one node to those of another, or between those of one.
type Link struct {
	From, To int      // indexes of nodes
	Ports    []string // each text once: the first MaxPorts, in order
	More     bool     // there are more
	Pairs    int      // of ends between which something is allowed
	Of       int      // all pairs of ends
	Each     bool     // from and to are the same members: it is within each, and not between two of them
	// Source and Target are ends of one of the pairs, and Traffic what is allowed between them.
	Source, Target Spot
	Traffic        reach.Traffic
}

// Spot is an end of a connection: a pod, or addresses outside.
type Spot struct {
	Pod     object.Key     // zero for addresses outside
	Outside []netip.Prefix // of a single group
}

// Whole reports whether the same is allowed between all pairs.
func (l *Link) Whole() bool { return l.Pairs == l.Of && len(l.Ports) == 1 && !l.More }

// Of arranges a report. The opened namespaces, at most MaxOpen, show their workloads.
func Of(r *connections.Report, opened []string) *Chart {
	b := &builder{report: r, opened: map[string]bool{}, byKey: map[string]*unit{}}
	for _, namespace := range opened[:min(len(opened), MaxOpen)] {
		b.opened[namespace] = true
	}
	b.collect()
	b.merge(b.alikeByGroups())
	b.merge(b.beyond(func(string) int { return maxUnits }))
	b.link()
	b.merge(b.alike(false))
	b.merge(b.alike(true))
	b.merge(b.beyond(limitOf))
	return b.chart()
}

func limitOf(parent string) int {
	switch parent {
	case spaces:
		return MaxSpaces
	case outside:
		return MaxOutside
	default:
		return MaxWithin
	}
}

// Pods yields all pods with the indexes of their nodes.
func (c *Chart) Pods() iter.Seq2[object.Key, int] {
	return func(yield func(object.Key, int) bool) {
		for key, n := range c.podAt {
			if !yield(key, n) {
				return
			}
		}
	}
}

// PodAt is the index of the node of a pod. It returns false for a pod that the report does not list.
func (c *Chart) PodAt(k object.Key) (int, bool) {
	n, ok := c.podAt[k]
	return n, ok
}

// OutsideAt is the index of the node of an address that no pod has. It returns false for one that the report does not list.
func (c *Chart) OutsideAt(a netip.Addr) (int, bool) {
	i, exact := slices.BinarySearchFunc(c.areas, a, func(x area, a netip.Addr) int { return x.prefix.Addr().Compare(a) })
	if !exact {
		i--
	}
	if i < 0 || !c.areas[i].prefix.Contains(a) {
		return 0, false
	}
	return c.areas[i].node, true
}

// chart is what has been arranged.
func (b *builder) chart() *Chart {
	out := &Chart{Nodes: []Node{}, Links: []Link{}, podAt: map[object.Key]int{}}
	order := slices.Clone(b.units)
	slices.SortStableFunc(order, func(x, y *unit) int {
		return cmp.Or(cmp.Compare(x.rank(), y.rank()), cmp.Compare(x.parent, y.parent), cmp.Compare(x.restRank(), y.restRank()), cmp.Compare(x.names[0], y.names[0]))
	})
	at := map[*unit]int{}
	for n, u := range order {
		at[u] = n
		out.Nodes = append(out.Nodes, u.node())
		for _, k := range u.pods {
			if _, known := out.podAt[k]; !known {
				out.podAt[k] = n
			}
		}
		for _, s := range u.shares {
			for _, p := range s.outside {
				out.areas = append(out.areas, area{p, n})
			}
		}
	}
	slices.SortFunc(out.areas, func(x, y area) int { return x.prefix.Addr().Compare(y.prefix.Addr()) })
	for key, l := range b.links {
		from, to := b.units[key[0]], b.units[key[1]]
		out.Links = append(out.Links, l.done(at[from], at[to], pairsOf(from, to)))
	}
	slices.SortFunc(out.Links, func(x, y Link) int {
		return cmp.Or(cmp.Compare(y.Pairs, x.Pairs), cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To))
	})
	if most := MaxLinks; len(out.Links) > most {
		out.Links, out.MoreLinks = out.Links[:most], len(out.Links)-most
	}
	slices.SortFunc(out.Links, func(x, y Link) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To)) })
	return out
}
