package sets

import (
	"iter"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// members shows a set of the label cache as intent.Members.
type members struct{ labelcache.Members }

// All implements intent.Members.
func (m members) All() iter.Seq[intent.Endpoint] {
	return func(yield func(intent.Endpoint) bool) {
		for e := range m.Members.All() {
			if !yield(endpointOf(e)) {
				return
			}
		}
	}
}

// HasKey implements intent.Members.
func (m members) HasKey(k object.Key) bool { return m.Members.HasKey(k) }

// Since implements intent.Comparer.
func (m members) Since(was intent.Members) (joined, left []intent.Endpoint, ok bool) {
	old, ok := was.(members)
	if !ok {
		return nil, nil, false
	}
	j, l := m.Members.Since(old.Members)
	return endpointsOf(j), endpointsOf(l), true
}

// Union implements intent.Uniter.
func (m members) Union(others []intent.Members) (intent.Members, bool) {
	list := []labelcache.Members{m.Members}
	for _, other := range others {
		o, ok := other.(members)
		if !ok {
			return nil, false
		}
		list = append(list, o.Members)
	}
	return members{labelcache.Union(list)}, true
}

func endpointOf(e *labelcache.Endpoint) intent.Endpoint {
	return intent.Endpoint{Key: e.Key, Addrs: e.Addrs, Shared: e.Shared, Node: e.Node}
}

func endpointsOf(list []*labelcache.Endpoint) []intent.Endpoint {
	if len(list) == 0 {
		return nil
	}
	out := make([]intent.Endpoint, len(list))
	for i, e := range list {
		out[i] = endpointOf(e)
	}
	return out
}
