package impact

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
)

// unselected finds what differs for the pods of policies that differ and select no pod of either state: those that an operator creates
// at run time, for example.
func (c *comparison) unselected() []Effect {
	was, is := policiesOf(c.before), policiesOf(c.after)
	var ends []reach.Group
	var subjects [][2][]intent.SetID
	for _, origin := range slices.Sorted(maps.Keys(union(was, is))) {
		a, b := was[origin], is[origin]
		if alike(a, b) || a.selects(c.before.Snapshot) || b.selects(c.after.Snapshot) {
			continue
		}
		add := func(former bool, before, after []intent.SetID) {
			ends, subjects = append(ends, reach.Group{Selected: origin, Former: former}), append(subjects, [2][]intent.SetID{before, after})
		}
		old, now := a.subjects(), b.subjects()
		if len(old) == 0 || len(now) == 0 || slices.Equal(old, now) {
			add(false, old, now)
			continue
		}
		add(true, old, nil)
		add(false, nil, now)
	}
	var both []reach.Place // peers of pods that are not known are pods that are
	for _, p := range c.places {
		if roles := c.roles[p]; roles == nil || !roles.Apart {
			both = append(both, p)
		}
	}
	var out []Effect
	for i, changes := range reach.ImpactOnSelected(c.before.Snapshot, c.after.Snapshot, both, subjects) {
		for _, change := range changes {
			var places []reach.Place
			for _, class := range change.Peers {
				places = append(places, class.Places...)
			}
			slices.SortFunc(places, reach.Place.Compare)
			e := Effect{From: c.group(places), To: ends[i], Opened: trafficText(change.Opened), Closed: trafficText(change.Closed)}
			if change.Direction == intent.Egress {
				e.From, e.To = e.To, e.From
			}
			out = append(out, e)
		}
	}
	return out
}

// policies are those of one object.
type policies []*intent.Policy

// policiesOf are the policies of the own cluster, by the names of their objects.
func policiesOf(s *world.State) map[string]policies {
	out := map[string]policies{}
	for p := range s.Snapshot.Policies() {
		name := p.Origin.String()
		out[name] = append(out[name], p)
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b *intent.Policy) int { return cmp.Compare(a.ID, b.ID) })
	}
	return out
}

func union(a, b map[string]policies) map[string]bool {
	out := map[string]bool{}
	for name := range a {
		out[name] = true
	}
	for name := range b {
		out[name] = true
	}
	return out
}

// alike reports whether the policies of an object say the same.
func alike(a, b policies) bool {
	return slices.EqualFunc(a, b, func(p, q *intent.Policy) bool {
		return p.Subject == q.Subject && p.Direction == q.Direction && p.Isolates == q.Isolates && p.Tier == q.Tier && p.Priority == q.Priority &&
			slices.EqualFunc(p.Rules, q.Rules, func(r, s intent.Rule) bool {
				return r.Action == s.Action && r.Subject == s.Subject && r.Peer == s.Peer && reflect.DeepEqual(r.Ports, s.Ports)
			})
	})
}

// selects reports whether any pod is selected.
func (p policies) selects(s *intent.Snapshot) bool {
	return slices.ContainsFunc(p, func(one *intent.Policy) bool { return s.Set(one.Subject).Len() > 0 })
}

// subjects are the sets of the pods that policies select, in order, and of those that their rules are narrowed to.
func (p policies) subjects() []intent.SetID {
	var out []intent.SetID
	for _, one := range p {
		out = append(out, one.Subject)
		for i := range one.Rules {
			if id := one.Rules[i].Subject; id != "" {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
