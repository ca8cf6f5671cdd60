package service

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// nodes are the nodes of the cluster, as services see them.
type nodes struct {
	byName map[string]*intent.Node
	sorted []*intent.Node // by name; nil if it has to be recreated
}

// list returns every node with its name and addresses, ordered by name.
func (t *nodes) list() []*intent.Node {
	if t.sorted == nil {
		t.sorted = slices.SortedFunc(maps.Values(t.byName), func(a, b *intent.Node) int {
			return strings.Compare(a.Name, b.Name)
		})
	}
	return t.sorted
}

// put adds or replaces a node, nil removes it, and reports whether its addresses changed.
func (t *nodes) put(name string, now *intent.Node) bool {
	var before, after []netip.Addr
	if old := t.byName[name]; old != nil {
		before = old.Addrs
	}
	if now == nil {
		delete(t.byName, name)
	} else {
		t.byName[name] = now
		after = now.Addrs
	}
	if slices.Equal(before, after) {
		return false
	}
	t.sorted = nil
	return true
}
