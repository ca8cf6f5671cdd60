package world

import (
	"net/netip"
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// clusterSet is the worlds of the clusters of a set, by name. In answers, pods of the own cluster have names without a cluster.
type clusterSet struct {
	own     string
	members map[string]*World
}

// join makes the worlds of the other clusters that a state has, and of those that only its endpoints name.
func (w *World) join() {
	set := &clusterSet{own: w.State.Cluster, members: map[string]*World{w.State.Cluster: w}}
	w.set = set
	add := func(s State) {
		if set.members[s.Cluster] != nil {
			return
		}
		other := index(s)
		other.set, set.members[s.Cluster] = set, other
	}
	for _, s := range w.State.Others {
		add(s)
	}
	for _, e := range w.endpoints {
		if set.members[e.Key.Cluster] == nil {
			add(State{Cluster: e.Key.Cluster, View: w.State.View, MadeUp: w.State.MadeUp})
		}
	}
}

// Several reports whether there is another cluster.
func (w *World) Several() bool { return len(w.set.members) > 1 }

// Home is the world of the own cluster.
func (w *World) Home() *World { return w.set.members[w.set.own] }

// NameOf names a pod: [cluster/]namespace/name.
func (w *World) NameOf(k object.Key) string { return NameIn(w.set.own, k) }

// NameIn names a pod as answers about a cluster do: only pods of other clusters have the name of theirs.
func NameIn(own string, k object.Key) string {
	if k.Cluster == own {
		k.Cluster = ""
	}
	return k.String()
}

// Prefix is what names of objects of the world's cluster begin with in answers.
func (w *World) Prefix() string {
	if w.State.Cluster == w.set.own {
		return ""
	}
	return w.State.Cluster + "/"
}

// IsOwn reports whether an endpoint is a pod of the world's cluster.
func (w *World) IsOwn(e *labelcache.Endpoint) bool { return e.Key.Cluster == w.State.Cluster }

// Holders lists the clusters whose policies may select a party: that of its pod, those of the pods with its address, or the
// world's own.
func (w *World) Holders(p intent.Party) []*World {
	if !w.Several() {
		return []*World{w}
	}
	if p.Key != (object.Key{}) {
		if member := w.set.members[p.Key.Cluster]; member != nil {
			return []*World{member}
		}
		return []*World{w}
	}
	var out []*World
	for _, e := range w.byAddr[p.Addr] {
		if member := w.set.members[e.Key.Cluster]; member != nil && !slices.Contains(out, member) {
			out = append(out, member)
		}
	}
	if len(out) == 0 {
		return []*World{w}
	}
	return out
}

// homeOf is the world of the cluster in which an address is in use; nil if no pod has it, or pods of several clusters do.
func (w *World) homeOf(a netip.Addr) *World {
	holders := w.Holders(intent.Party{Addr: a})
	if len(w.byAddr[a]) == 0 || len(holders) != 1 {
		return nil
	}
	return holders[0]
}
