package query

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Impact is the differences between two states, for pods that are in both with the same addresses.
type Impact struct {
	Changes []Effect `json:"changes"` // empty if no verdict changes
	Pods    int      `json:"pods"`    // of the own cluster that are in both
	// Appeared and Vanished are pods of one state only; pods whose addresses differ are in both. They are not compared.
	Appeared []string `json:"appeared,omitempty"`
	Vanished []string `json:"vanished,omitempty"`
	// Undecided are the other clusters with pods in Changes: their own policies are not considered.
	Undecided []string `json:"undecided,omitempty"`
}

// Effect is the same difference for all connections from some ends to others.
type Effect struct {
	From Group `json:"from"`
	To   Group `json:"to"`
	// Opened is allowed now and was denied, Closed the reverse: protocols and ports in the format of reach.Traffic; "" is
	// none.
	Opened string `json:"opened,omitempty"`
	Closed string `json:"closed,omitempty"`
	Family string `json:"family,omitempty"` // "IPv4" or "IPv6" if it concerns only one family of ends with both
}

// Group is a set of ends of connections that policies treat alike.
type Group struct {
	Pods    []string       `json:"pods,omitempty"`    // as [cluster/]namespace/name
	Outside []netip.Prefix `json:"outside,omitempty"` // addresses that belong to no pod; the fewest prefixes, in order
}

// Compare finds the effect of the step from one state to another on connections.
func Compare(before, after State) Impact {
	out := Impact{Changes: []Effect{}}
	name := func(k object.Key) string { return NameIn(after.Cluster, k) }
	old, now := endpointsOf(before.View), endpointsOf(after.View)
	var both []intent.Endpoint
	for key, e := range now {
		if was, ok := old[key]; ok && slices.Equal(was.Addrs, e.Addrs) {
			both = append(both, intent.Endpoint{Key: key, Addrs: e.Addrs, Node: e.Node})
			if key.Cluster == after.Cluster {
				out.Pods++
			}
			continue
		}
		out.Appeared = append(out.Appeared, name(key))
	}
	for key, e := range old {
		if is, ok := now[key]; !ok || !slices.Equal(is.Addrs, e.Addrs) {
			out.Vanished = append(out.Vanished, name(key))
		}
	}
	slices.Sort(out.Appeared)
	slices.Sort(out.Vanished)

	places := append(reach.PlacesOf(both), reach.Outside(assignedIn(old, now), before.Snapshot, after.Snapshot)...)
	areas, undecided := reach.AreasOf(places), map[string]bool{}
	for _, c := range reach.Impact(before.Snapshot, after.Snapshot, places) {
		from, to := placesIn(c.From), placesIn(c.To)
		noteClusters(undecided, after.Cluster, from, to)
		out.Changes = append(out.Changes, Effect{
			From: groupOf(from, areas, name), To: groupOf(to, areas, name), Opened: trafficText(c.Opened), Closed: trafficText(c.Closed),
			Family: familyName(c.From[0].Family),
		})
	}
	out.Undecided = slices.Sorted(maps.Keys(undecided))
	out.Changes = joined(out.Changes)
	if !bothFamilies(both) { // then the family is evident
		for i := range out.Changes {
			out.Changes[i].Family = ""
		}
	}
	return out
}

// bothFamilies reports whether endpoints have addresses of both families.
func bothFamilies(endpoints []intent.Endpoint) bool {
	is4, is6 := false, false
	for i := range endpoints {
		for _, a := range endpoints[i].Addrs {
			is4, is6 = is4 || a.Is4(), is6 || a.Is6()
		}
	}
	return is4 && is6
}

func endpointsOf(v labelcache.View) map[object.Key]*labelcache.Endpoint {
	out := map[object.Key]*labelcache.Endpoint{}
	for e := range v.Endpoints() {
		out[e.Key] = e
	}
	return out
}

// assignedIn reports whether a pod of either state has an address.
func assignedIn(states ...map[object.Key]*labelcache.Endpoint) func(netip.Addr) bool {
	held := map[netip.Addr]bool{}
	for _, s := range states {
		for _, e := range s {
			for _, a := range e.Addrs {
				held[a] = true
			}
		}
	}
	return func(a netip.Addr) bool { return held[a] }
}

// placesIn are the places of classes, in order.
func placesIn(classes []*reach.Class) []reach.Place {
	var out []reach.Place
	for _, c := range classes {
		out = append(out, c.Places...)
	}
	slices.SortFunc(out, reach.Place.Compare)
	return out
}

// noteClusters adds the clusters of pods at some places, other than the own one.
func noteClusters(to map[string]bool, own string, lists ...[]reach.Place) {
	for _, places := range lists {
		for i := range places {
			if k := places[i].Party.Key; k.Name != "" && k.Cluster != own {
				to[k.Cluster] = true
			}
		}
	}
}

func groupOf(places []reach.Place, areas reach.Areas, name func(object.Key) string) Group {
	g := Group{Outside: areas.Of(places)}
	for i := range places {
		if p := &places[i]; !p.Standing.IsValid() {
			g.Pods = append(g.Pods, name(p.Party.Key))
		}
	}
	g.Pods = withoutTwins(slices.Compact(g.Pods))
	return g
}

// withoutTwins leaves out the second of two pods that stand for one workload if the first is there.
func withoutTwins(pods []string) []string {
	known := make(map[string]bool, len(pods))
	for _, name := range pods {
		known[name] = true
	}
	return slices.DeleteFunc(pods, func(name string) bool {
		first, ok := strings.CutSuffix(name, "+1")
		return ok && known[first]
	})
}

// asWorkloads names made-up pods, of which up to two stand for a workload, after their workload alone.
func asWorkloads(pods []string) []string {
	out := make([]string, len(pods))
	for i, name := range pods {
		out[i] = strings.TrimSuffix(name, "+1") // no name of a pod ends so
	}
	return slices.Compact(out)
}

// Outward reports whether an end of e is outside.
func (e *Effect) Outward() bool { return len(e.From.Pods) == 0 || len(e.To.Pods) == 0 }

func trafficText(t reach.Traffic) string {
	if t.Empty() {
		return ""
	}
	return t.String()
}

func familyName(f intent.Families) string {
	if f == intent.IPv6 {
		return "IPv6"
	}
	return "IPv4"
}

// joined merges effects that differ in one end only, or in the family, and sorts them by their ends.
func joined(effects []Effect) []Effect {
	effects = join(effects, func(e *Effect) string { return e.To.key() + e.Family })
	effects = join(effects, func(e *Effect) string { return e.From.key() + e.Family })
	effects = join(effects, func(e *Effect) string {
		return strings.Join(e.From.Pods, " ") + "->" + strings.Join(e.To.Pods, " ") // the family is evident from the prefixes
	})
	slices.SortStableFunc(effects, func(a, b Effect) int {
		return cmp.Or(cmp.Compare(a.From.first(), b.From.first()), cmp.Compare(a.To.first(), b.To.first()))
	})
	return effects
}

// join merges effects with the same key that open and close the same, in the place of the first one.
func join(effects []Effect, key func(*Effect) string) []Effect {
	at := map[string]int{}
	var alike [][]*Effect
	for i := range effects {
		e := &effects[i]
		k := strings.Join([]string{key(e), e.Opened, e.Closed}, "|")
		n, seen := at[k]
		if !seen {
			n = len(alike)
			at[k], alike = n, append(alike, nil)
		}
		alike[n] = append(alike[n], e)
	}
	out := make([]Effect, len(alike))
	for i, list := range alike {
		out[i] = *list[0]
		if len(list) == 1 {
			continue
		}
		var from, to []*Group
		for _, e := range list {
			from, to = append(from, &e.From), append(to, &e.To)
			if e.Family != out[i].Family {
				out[i].Family = ""
			}
		}
		out[i].From, out[i].To = unionOf(from), unionOf(to)
	}
	return out
}

// add adds the ends of o.
func (g *Group) add(o *Group) { *g = unionOf([]*Group{g, o}) }

// unionOf is the ends in any of some groups.
func unionOf(groups []*Group) Group {
	var g Group
	first := groups[0].key()
	for i, o := range groups {
		if i > 0 && o.key() == first {
			continue // most groups of one end are equal
		}
		g.Pods, g.Outside = append(g.Pods, o.Pods...), append(g.Outside, o.Outside...)
	}
	slices.Sort(g.Pods)
	g.Pods, g.Outside = slices.Compact(g.Pods), intent.MergePrefixes(g.Outside)
	return g
}

func (g *Group) key() string { return strings.Join(g.Pods, " ") + fmt.Sprint(g.Outside) }

// first is the sort key of groups: those with pods before those outside.
func (g *Group) first() string {
	if len(g.Pods) > 0 {
		return g.Pods[0]
	}
	return fmt.Sprint("~", g.Outside)
}
