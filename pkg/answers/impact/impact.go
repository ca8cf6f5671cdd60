package impact

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Report is the differences between two states, for pods that are in both with the same addresses.
type Report struct {
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
	From reach.Group `json:"from"`
	To   reach.Group `json:"to"`
	// Opened is allowed now and was denied, Closed the reverse: protocols and ports in the format of reach.Traffic; "" is
	// none.
	Opened string `json:"opened,omitempty"`
	Closed string `json:"closed,omitempty"`
	Family string `json:"family,omitempty"` // "IPv4" or "IPv6" if it concerns only one family of ends with both
}

// Of finds the effect of the step from one state to another on connections.
func Of(before, after world.State) Report {
	out := Report{Changes: []Effect{}}
	name := func(k object.Key) string { return world.NameIn(after.Cluster, k) }
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
			From: reach.GroupOf(from, areas, name), To: reach.GroupOf(to, areas, name), Opened: trafficText(c.Opened), Closed: trafficText(c.Closed),
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
	effects = join(effects, func(e *Effect) string { return e.To.Key() + e.Family })
	effects = join(effects, func(e *Effect) string { return e.From.Key() + e.Family })
	effects = join(effects, func(e *Effect) string {
		return strings.Join(e.From.Pods, " ") + "->" + strings.Join(e.To.Pods, " ") // the family is evident from the prefixes
	})
	slices.SortStableFunc(effects, func(a, b Effect) int {
		return cmp.Or(cmp.Compare(a.From.First(), b.From.First()), cmp.Compare(a.To.First(), b.To.First()))
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
		var from, to []*reach.Group
		for _, e := range list {
			from, to = append(from, &e.From), append(to, &e.To)
			if e.Family != out[i].Family {
				out[i].Family = ""
			}
		}
		out[i].From, out[i].To = reach.UnionOf(from), reach.UnionOf(to)
	}
	return out
}
