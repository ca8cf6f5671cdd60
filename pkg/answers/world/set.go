package world

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// New indexes a state.
func New(state State) *World {
	w := lazily(index(state))
	w.join()
	return w
}

// lazily completes a world with what is made when it is first asked for.
func lazily(w *World) *World {
	w.doubting = sync.OnceValue(func() *doubting { return newDoubting(w) })
	w.wouldBe = sync.OnceValue(func() *World {
		if w.State.WouldBe == nil {
			return nil
		}
		return New(w.State.WouldBe())
	})
	return w
}

// join makes the worlds of the other clusters that a state has, and of those that only its endpoints name.
func (w *World) join() {
	set := &clusterSet{own: w.State.Cluster, members: map[string]*World{w.State.Cluster: w}}
	w.set = set
	add := func(s State) {
		if set.members[s.Cluster] != nil {
			return
		}
		other := lazily(index(s))
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
