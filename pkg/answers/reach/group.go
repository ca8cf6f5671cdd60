package reach

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Group is a set of ends of connections that policies treat alike.
type Group struct {
	Pods    []string       `json:"pods,omitempty"`    // as [cluster/]namespace/name
	Outside []netip.Prefix `json:"outside,omitempty"` // addresses that belong to no pod; the fewest prefixes, in order
	// Selected names a policy, such as NetworkPolicy/shop/db: the ends are the pods that it selects, and none of them is known. "" means
	// that the ends are those above.
	Selected string `json:"selected,omitempty"`
	// Former means that the policy selects those pods in the first of two states only.
	Former bool `json:"former,omitempty"`
}

// GroupOf is the ends at some places, by the names of their pods.
func GroupOf(places []Place, areas Areas, name func(object.Key) string) Group {
	g := Group{Outside: areas.Of(places)}
	for i := range places {
		if p := &places[i]; !p.Standing.IsValid() {
			g.Pods = append(g.Pods, name(p.Party.Key))
		}
	}
	g.Pods = AsWorkloads(g.Pods)
	return g
}

// AsWorkloads leaves out repeated names of a sorted list, and names both of the made-up pods that stand for a StatefulSet after it: no more
// are made for any number of replicas, and policies rarely tell them apart.
func AsWorkloads(pods []string) []string {
	pods = slices.Compact(pods)
	for i := 0; i+1 < len(pods); i++ {
		set, first := strings.CutSuffix(pods[i], "-0")
		if _, name, ok := strings.Cut(set, "/sts/"); first && ok && name != "" && pods[i+1] == set+"-1" {
			pods[i] = set
			pods = slices.Delete(pods, i+1, i+2)
		}
	}
	return pods
}

// Add adds the ends of o.
func (g *Group) Add(o *Group) { *g = UnionOf([]*Group{g, o}) }

// UnionOf is the ends in any of some groups.
func UnionOf(groups []*Group) Group {
	var g Group
	first := groups[0].Key()
	for i, o := range groups {
		if i > 0 && o.Key() == first {
			continue // most groups of one end are equal
		}
		g.Pods, g.Outside = append(g.Pods, o.Pods...), append(g.Outside, o.Outside...)
	}
	slices.Sort(g.Pods)
	g.Pods, g.Outside = slices.Compact(g.Pods), intent.MergePrefixes(g.Outside)
	return g
}

// SelectedText describes the pods that a policy selects, none of which is known; "" if that is not what g is.
func (g *Group) SelectedText() string {
	if g.Selected == "" {
		return ""
	}
	if g.Former {
		return "pods that " + g.Selected + " selected"
	}
	return "pods that " + g.Selected + " selects"
}

// Key is the same for equal groups only.
func (g *Group) Key() string {
	return strings.Join(g.Pods, " ") + fmt.Sprint(g.Outside) + g.SelectedText()
}

// First is the sort key of groups: those with pods before those outside.
func (g *Group) First() string {
	if len(g.Pods) > 0 {
		return g.Pods[0]
	}
	return fmt.Sprint("~", g.Outside)
}
