package sets

import (
	"iter"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
)

// contested shows a set of the label cache with the addresses that its endpoints share with others as addresses of its own. A rule that
// denies has to match them: they may be those of its peers.
type contested struct{ members }

// All implements intent.Members.
func (c contested) All() iter.Seq[intent.Endpoint] {
	return func(yield func(intent.Endpoint) bool) {
		for e := range c.Members.All() {
			if !yield(contestedEndpoint(e)) {
				return
			}
		}
	}
}

// HasAddr implements intent.Members.
func (c contested) HasAddr(a netip.Addr) bool {
	return c.Members.HasAddr(a) || c.Members.HasSharedAddr(a)
}

// HasSharedAddr implements intent.Members.
func (c contested) HasSharedAddr(netip.Addr) bool { return false }

// Since implements intent.Comparer.
func (c contested) Since(was intent.Members) (joined, left []intent.Endpoint, ok bool) {
	old, ok := was.(contested)
	if !ok {
		return nil, nil, false
	}
	j, l := c.Members.Since(old.Members)
	return contestedEndpoints(j), contestedEndpoints(l), true
}

// Union implements intent.Uniter.
func (c contested) Union(others []intent.Members) (intent.Members, bool) {
	list := []labelcache.Members{c.Members}
	for _, other := range others {
		o, ok := other.(contested)
		if !ok {
			return nil, false
		}
		list = append(list, o.Members)
	}
	return contested{members{labelcache.Union(list)}}, true
}

// contestedDelta is a change of a set that was old before.
func contestedDelta(old *intent.Set, m labelcache.Members, c *labelcache.Change) intent.SetDelta {
	d := intent.SetDelta{ID: intent.SetID(c.ID), Joined: contestedEndpoints(c.Joined), Left: contestedEndpoints(c.Left)}
	d.AddrsAdded = counted(old, addrsWithout(d.Joined, old.Members))
	d.AddrsRemoved = counted(old, addrsWithout(d.Left, contested{members{m}}))
	return d
}

// addrsWithout lists the addresses of endpoints that no member has, each once, in order. There may be no members.
func addrsWithout(endpoints []intent.Endpoint, in intent.Members) []netip.Addr {
	var out []netip.Addr
	for i := range endpoints {
		for _, a := range endpoints[i].Addrs {
			if in == nil || !in.HasAddr(a) {
				out = append(out, a)
			}
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

func contestedEndpoint(e *labelcache.Endpoint) intent.Endpoint {
	return intent.Endpoint{Key: e.Key, Addrs: e.AllAddrs(), Node: e.Node}
}

func contestedEndpoints(list []*labelcache.Endpoint) []intent.Endpoint {
	if len(list) == 0 {
		return nil
	}
	out := make([]intent.Endpoint, len(list))
	for i, e := range list {
		out[i] = contestedEndpoint(e)
	}
	return out
}
