package impact

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// comparison is two states, and what is compared with what.
type comparison struct {
	before, after      *world.State
	old, now           map[object.Key]*labelcache.Endpoint
	common             int                       // pods of the own cluster that are in both
	appeared, vanished []object.Key              // those of one state only, in order
	counterparts       map[object.Key]object.Key // of those of the second state only, as far as there are any
	places             []reach.Place
	roles              map[reach.Place]*reach.Roles // of places that are not the same in both
	areas              reach.Areas
}

// compare pairs the pods of two states.
func compare(before, after world.State) *comparison {
	c := &comparison{
		before: &before, after: &after, old: endpointsOf(before.View), now: endpointsOf(after.View),
		counterparts: map[object.Key]object.Key{}, roles: map[reach.Place]*reach.Roles{},
	}
	for key, e := range c.now {
		was, both := c.old[key]
		if both && key.Cluster == after.Cluster {
			c.common++
		}
		if !both {
			c.appeared = append(c.appeared, key)
			continue
		}
		c.add(e, was, slices.Equal(was.Addrs, e.Addrs), false)
	}
	for key := range c.old {
		if c.now[key] == nil {
			c.vanished = append(c.vanished, key)
		}
	}
	slices.SortFunc(c.appeared, object.Key.Compare)
	slices.SortFunc(c.vanished, object.Key.Compare)
	c.pair()
	for _, key := range c.appeared {
		c.add(c.now[key], c.old[c.counterparts[key]], false, true)
	}
	return c
}

// add adds the places of a pod, and of the one that was in its place: nil if there was none.
func (c *comparison) add(pod, was *labelcache.Endpoint, same, apart bool) {
	for _, p := range reach.PlacesOf([]intent.Endpoint{{Key: pod.Key, Addrs: pod.Addrs, Node: pod.Node}}) {
		c.places = append(c.places, p)
		if same {
			continue
		}
		roles := &reach.Roles{In: [2]reach.Role{1: {Party: p.Party, Exists: true}}, Apart: apart}
		if was != nil {
			roles.In[0] = reach.RoleOf(intent.Endpoint{Key: was.Key, Addrs: was.Addrs}, p.Party.Addr)
		}
		c.roles[p] = roles
	}
}

// pair finds the counterparts of new pods in the first state: by their labels, or by their workload.
func (c *comparison) pair() {
	if len(c.appeared) == 0 {
		return
	}
	byLabels, byWorkload, was := map[string]object.Key{}, map[string]object.Key{}, workloadsOf(c.before)
	for _, key := range slices.SortedFunc(maps.Keys(c.old), object.Key.Compare) {
		if kin := world.Kinship(c.old[key]); kin != "" {
			keepFirst(byLabels, kin, key)
		}
		if load := was[key]; load != "" {
			keepFirst(byWorkload, load, key)
		}
	}
	is := workloadsOf(c.after)
	for _, key := range c.appeared {
		found, ok := byLabels[world.Kinship(c.now[key])]
		if !ok {
			found, ok = byWorkload[is[key]]
		}
		if ok {
			c.counterparts[key] = found
		}
	}
}

func keepFirst(in map[string]object.Key, text string, key object.Key) {
	if _, known := in[text]; !known {
		in[text] = key
	}
}

// workloadsOf names the workloads of pods, as far as they are known.
func workloadsOf(s *world.State) map[object.Key]string {
	out := map[object.Key]string{}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		for _, pod := range w.Pods {
			out[object.Key{Cluster: s.Cluster, Namespace: w.Namespace, Name: pod}] = w.String()
		}
	}
	return out
}

// part is the places of some classes that are in both states, or those that are apart.
type part struct {
	places []reach.Place
	apart  bool
}

// divided are the places of classes, in order: those of pods that are in both states, and the others.
func (c *comparison) divided(classes []*reach.Class) [2]part {
	out := [2]part{{}, {apart: true}}
	for _, class := range classes {
		n := 0
		if roles := c.roles[class.Places[0]]; roles != nil && roles.Apart { // then all of the class are
			n = 1
		}
		out[n].places = append(out[n].places, class.Places...)
	}
	for n := range out {
		slices.SortFunc(out[n].places, reach.Place.Compare)
	}
	return out
}

func (c *comparison) name(k object.Key) string { return world.NameIn(c.after.Cluster, k) }

func (c *comparison) group(places []reach.Place) reach.Group {
	return reach.GroupOf(places, c.areas, c.name)
}

// names are the names of pods of one state only, in order. If it differs how many pods stand for a workload, that is not listed.
func (c *comparison) names(keys []object.Key) []string {
	var out []string
	for _, k := range keys {
		if first := k.First(); !k.Repeats() || c.old[first] == nil && c.now[first] == nil {
			out = append(out, c.name(k))
		}
	}
	slices.Sort(out)
	return reach.AsWorkloads(out)
}

func (c *comparison) counterpartNames() map[string]string {
	if len(c.counterparts) == 0 {
		return nil
	}
	out := map[string]string{}
	for key, other := range c.counterparts {
		if _, twice := c.counterparts[key.First()]; (!key.Repeats() || !twice) && key.First() != other {
			out[c.name(key)] = c.name(other)
		}
	}
	return out
}
