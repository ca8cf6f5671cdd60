package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/netloom/netloom/labelcache"
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
	for _, t := range []intent.Tier{intent.TierAdmin, intent.TierBaseline} {
		for p := range s.Ranked(t) {
			set := s.Set(p.Subject)
			if set.Len() == 0 || !slices.ContainsFunc(p.Rules, func(r intent.Rule) bool { return r.Action == intent.Deny }) {
				continue
			}
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
	spaces := map[string][]*labelcache.Endpoint{}
	for e := range r.View.Endpoints() {
		if !e.Key.Repeats() {
			spaces[e.Key.Namespace] = append(spaces[e.Key.Namespace], e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(spaces)) {
		var open [2][]string
		for _, e := range spaces[name] {
			for _, d := range intent.Directions() {
				if !guarded.Has(d, e.Key) {
					open[d] = append(open[d], e.Key.Name)
				}
			}
		}
		slices.Sort(open[intent.Ingress])
		slices.Sort(open[intent.Egress])
		ref, all := object.Ref{Kind: object.KindNamespace, Name: name}, len(spaces[name])
		switch n := len(open[intent.Ingress]); {
		case n == all && len(open[intent.Egress]) == all:
			r.add(newFinding(UnisolatedNamespace, ref, "", fmt.Sprintf("no policy isolates a pod of this namespace, which has %s", podCount(all))))
			continue
		case n > 0:
			r.add(newFinding(UnisolatedPods, ref, "",
				fmt.Sprintf("not isolated for ingress, %d of %s: %s", n, podCount(all), object.Few(open[intent.Ingress], shown))))
		}
		if n := len(open[intent.Egress]); n > 0 {
			r.add(newFinding(UnisolatedEgress, ref, "",
				fmt.Sprintf("not isolated for egress, %d of %s: %s", n, podCount(all), object.Few(open[intent.Egress], shown))))
		}
	}
}
