package impact

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Report is the differences between two states.
type Report struct {
	Changes []Effect `json:"changes"` // between pods that are in both states; empty if no verdict changes
	Pods    int      `json:"pods"`    // of the own cluster that are in both
	// Namespace is the only one that the lists below and Changes are about; "" if they are about all.
	Namespace string `json:"namespace,omitempty"`
	// Appeared and Vanished are pods of one state only.
	Appeared []string `json:"appeared,omitempty"`
	Vanished []string `json:"vanished,omitempty"`
	// Apart is what changes for those that appeared. Each is compared with its counterpart in the first state: a pod with the same labels, or
	// of the same workload. A pod without one had no connections there.
	Apart []Effect `json:"apart,omitempty"`
	// Counterparts are the pods that those that appeared are compared with, by name.
	Counterparts map[string]string `json:"counterparts,omitempty"`
	// Unselected is what changes for the pods of policies that differ and select no pod of either state, according to that policy alone.
	Unselected []Effect `json:"unselected,omitempty"`
	// Promoted are policies that are staged in the first state and enforced in the second; Demoted the reverse. Staged are those that are
	// staged in the second: no change is by them.
	Promoted []object.Ref `json:"promoted,omitempty"`
	Demoted  []object.Ref `json:"demoted,omitempty"`
	Staged   []object.Ref `json:"staged,omitempty"`
	// Undecided are the other clusters with pods in Changes or Apart: their own policies are not considered.
	Undecided []string `json:"undecided,omitempty"`

	others int // pods of other namespaces that appeared, see Within
}

// All is every effect: of Changes, Apart and Unselected.
func (r *Report) All() []Effect { return slices.Concat(r.Changes, r.Apart, r.Unselected) }

// Compared reports whether there was a pod to compare.
func (r *Report) Compared() bool { return r.Pods+len(r.Appeared)+r.others > 0 }

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
	c := compare(before, after)
	out := Report{Changes: []Effect{}, Pods: c.common, Appeared: c.names(c.appeared), Vanished: c.names(c.vanished), Counterparts: c.counterpartNames()}
	c.places = append(c.places, reach.Outside(assignedIn(c.old, c.now), before.Snapshot, after.Snapshot)...)
	c.areas = reach.AreasOf(c.places)
	out.stage(&before, &after)
	undecided := map[string]bool{}
	for _, change := range reach.Impact(before.Snapshot, after.Snapshot, c.places, c.roles) {
		for _, from := range c.divided(change.From) {
			for _, to := range c.divided(change.To) {
				if len(from.places) == 0 || len(to.places) == 0 {
					continue
				}
				e := Effect{
					From: c.group(from.places), To: c.group(to.places), Opened: trafficText(change.Opened), Closed: trafficText(change.Closed),
					Family: familyName(change.From[0].Family),
				}
				noteClusters(undecided, after.Cluster, from.places, to.places)
				if from.apart || to.apart {
					out.Apart = append(out.Apart, e)
				} else {
					out.Changes = append(out.Changes, e)
				}
			}
		}
	}
	out.Undecided = slices.Sorted(maps.Keys(undecided))
	out.Changes = joined(out.Changes)
	if len(out.Apart) > 0 {
		out.Apart = joined(out.Apart)
	}
	if !c.bothFamilies() { // then the family is evident
		for _, effects := range [][]Effect{out.Changes, out.Apart} {
			for i := range effects {
				effects[i].Family = ""
			}
		}
	}
	out.Unselected = c.unselected()
	return out
}

// bothFamilies reports whether pods have addresses of both families.
func (c *comparison) bothFamilies() bool {
	is4, is6 := false, false
	for i := range c.places {
		if p := &c.places[i]; !p.Standing.IsValid() {
			is4, is6 = is4 || p.Party.Addr.Is4(), is6 || p.Party.Addr.Is6()
		}
	}
	return is4 && is6
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
