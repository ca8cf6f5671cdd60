package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Guarded finds the endpoints that some policy protects in a direction: those that a NetworkPolicy isolates, and those that a
// cluster-wide policy denies something.
type Guarded struct {
	snapshot *intent.Snapshot
	denied   [2]map[object.Key]bool // by direction
}

// NewGuarded looks at the policies of a snapshot.
func NewGuarded(s *intent.Snapshot) *Guarded {
	g := &Guarded{snapshot: s, denied: [2]map[object.Key]bool{{}, {}}}
	var denies [2]map[intent.SetID]bool // policies often have their subjects in common
	for d := range denies {
		denies[d] = map[intent.SetID]bool{}
	}
	for _, t := range []intent.Tier{intent.TierAdmin, intent.TierBaseline} {
		for p := range s.Ranked(t) {
			set := s.Set(p.Subject)
			if denies[p.Direction][p.Subject] || set.Len() == 0 || !slices.ContainsFunc(p.Rules, func(r intent.Rule) bool { return r.Action == intent.Deny }) {
				continue
			}
			denies[p.Direction][p.Subject] = true
			for e := range set.Members.All() {
				g.denied[p.Direction][e.Key] = true
			}
		}
	}
	return g
}

// Isolated reports whether a NetworkPolicy isolates an endpoint in a direction.
func (g *Guarded) Isolated(d intent.Direction, k object.Key) bool {
	return g.snapshot.Set(intent.IsolatedSet(d)).HasKey(k)
}

// Has reports whether a policy protects an endpoint in a direction.
func (g *Guarded) Has(d intent.Direction, k object.Key) bool {
	return g.Isolated(d, k) || g.denied[d][k]
}

// isolation finds the pods that no policy protects, by namespace.
func (r *run) isolation() {
	guarded := NewGuarded(r.Snapshot)
	spaces := map[string]map[object.Key][2]bool{} // by namespace and subject: whether one of its pods is not protected in a direction
	for e := range r.View.Endpoints() {
		if r.Passing[e.Key] {
			continue
		}
		of := spaces[e.Key.Namespace]
		if of == nil {
			of = map[object.Key][2]bool{}
			spaces[e.Key.Namespace] = of
		}
		open := of[e.Key.Subject()]
		for _, d := range intent.Directions() {
			open[d] = open[d] || !guarded.Has(d, e.Key)
		}
		of[e.Key.Subject()] = open
	}
	for _, name := range slices.Sorted(maps.Keys(spaces)) {
		var open [2][]string
		for _, k := range slices.SortedFunc(maps.Keys(spaces[name]), object.Key.Compare) {
			for _, d := range intent.Directions() {
				if spaces[name][k][d] {
					open[d] = append(open[d], k.Name)
				}
			}
		}
		ref, all := object.Ref{Kind: object.KindNamespace, Name: name}, len(spaces[name])
		switch n := len(open[intent.Ingress]); {
		case n == all && len(open[intent.Egress]) == all:
			r.add(newFinding(UnisolatedNamespace, ref, "", fmt.Sprintf("no policy isolates a pod of this namespace, which has %s", r.out.count(all))))
			continue
		case n > 0:
			r.add(newFinding(UnisolatedPods, ref, "",
				fmt.Sprintf("not isolated for ingress, %d of %s: %s", n, r.out.count(all), object.Few(open[intent.Ingress], shown))))
		}
		if n := len(open[intent.Egress]); n > 0 {
			r.add(newFinding(UnisolatedEgress, ref, "",
				fmt.Sprintf("not isolated for egress, %d of %s: %s", n, r.out.count(all), object.Few(open[intent.Egress], shown))))
		}
	}
}
