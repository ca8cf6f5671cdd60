package connections

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// survey is the ends that there are, by what policies and the filter distinguish.
type survey struct {
	world       *world.World
	filter      *Filter
	classes     []*reach.Class // those that represent a trait each
	traits      []trait        // by index
	kinds       []*kind
	byTraits    map[kindKey]*kind
	traitOf     map[reach.Place]int
	unaddressed []string
	undecided   []string
	nodes       bool
}

// trait is what is the same for places that allow the same with all others.
type trait struct {
	source, target int  // numbers of a reach.Table
	outside        bool // addresses of no pod
	from, to, of   bool // the filter has them as sources, as destinations, and as one of both
	sends, admits  bool // a policy decides on egress and ingress, if the filter asks for that
}

// noTrait is the trait of an end in a family of which it has no address.
const noTrait = -1

// kindKey is the traits of an end by family: IPv4, IPv6.
type kindKey [2]int

// kind is the ends that have the same traits.
type kind struct {
	key      kindKey
	trait    *trait // one of the two: they differ in nothing but source and target
	sends    [2]bool
	admits   [2]bool
	ends     []End
	pods     int
	standing []reach.Place // outside
}

func newSurvey(w *world.World, f *Filter) *survey {
	s := &survey{world: w, filter: f, byTraits: map[kindKey]*kind{}, traitOf: map[reach.Place]int{}}
	snapshot := s.withoutNodeAccess()
	var endpoints []intent.Endpoint
	var members []*labelcache.Endpoint
	taken := map[netip.Addr]bool{}
	clusters := map[string]bool{}
	for _, e := range w.Endpoints() {
		addrs := e.AllAddrs()
		if len(addrs) == 0 {
			s.unaddressed = append(s.unaddressed, w.NameOf(e.Key))
			continue
		}
		members = append(members, e)
		endpoints = append(endpoints, intent.Endpoint{Key: e.Key, Addrs: addrs, Node: e.Node})
		for _, a := range addrs {
			taken[a] = true
		}
		if !w.IsOwn(e) {
			clusters[e.Key.Cluster] = true
		}
	}
	s.undecided = slices.Sorted(maps.Keys(clusters))
	from, to, of := chosen(w, f.From), chosen(w, f.To), chosen(w, f.Of)
	named := slices.Concat(reach.Prefixes(snapshot), from.prefixes(), to.prefixes(), of.prefixes())
	outside := reach.OutsideOf(func(a netip.Addr) bool { return taken[a] }, named)
	places := append(reach.PlacesOf(endpoints), outside...)
	s.classify(reach.Classify(places, snapshot), from, to, of)
	for _, group := range s.workloads(members) {
		s.add(group)
	}
	for _, p := range outside {
		k := s.kind(kindKey(s.traitsOf(p)))
		k.standing = append(k.standing, p)
	}
	return s
}

// withoutNodeAccess is the snapshot without what nodes are always allowed: it would tell the pods of a workload apart by where they run.
func (s *survey) withoutNodeAccess() *intent.Snapshot {
	var system []*intent.Policy
	for p := range s.world.Snapshot().Ranked(intent.TierSystem) {
		if !object.IsNetwork(p.Origin.Kind) {
			system = append(system, p)
		}
	}
	if len(system) == 0 {
		return s.world.Snapshot()
	}
	s.nodes = true
	b := s.world.Snapshot().Variant()
	for _, p := range system {
		b.DropPolicy(p.ID)
	}
	return b.Commit()
}

// classify finds the trait of each place.
func (s *survey) classify(classes []*reach.Class, from, to, of *choice) {
	all := reach.NewTable(0, classes, classes)
	sources, targets := all.Sources(), all.Targets()
	at := map[trait]int{}
	for i, c := range classes {
		for _, p := range c.Places {
			t := trait{
				source: sources[i], target: targets[i], outside: p.Standing.IsValid(), from: from.has(p), to: to.has(p), of: of.has(p),
				sends: s.filter.Policed && c.Decided(0, intent.Egress), admits: s.filter.Policed && c.Decided(0, intent.Ingress),
			}
			n, known := at[t]
			if !known {
				n = len(s.traits)
				at[t], s.traits, s.classes = n, append(s.traits, t), append(s.classes, c)
			}
			s.traitOf[p] = n
		}
	}
}

// traitsOf are the traits of a place by family.
func (s *survey) traitsOf(p reach.Place) [2]int {
	out := [2]int{noTrait, noTrait}
	out[familyOf(p.Party.Addr)] = s.traitOf[p]
	return out
}

func familyOf(a netip.Addr) int {
	if a.Is4() {
		return 0
	}
	return 1
}

// kind finds the kind of ends with some traits.
func (s *survey) kind(key kindKey) *kind {
	k := s.byTraits[key]
	if k == nil {
		k = &kind{key: key}
		for family, t := range key {
			if t != noTrait {
				k.trait = &s.traits[t]
				k.sends[family], k.admits[family] = s.traits[t].sends, s.traits[t].admits
			}
		}
		s.byTraits[key], s.kinds = k, append(s.kinds, k)
	}
	return k
}

// add adds the pods of a workload: as one end if all allow the same, or else each for itself.
func (s *survey) add(of workloadPods) {
	keys := make([]kindKey, len(of.pods))
	whole := true
	for i, e := range of.pods {
		key, single := s.keyOf(e)
		keys[i] = key
		whole = whole && single && key == keys[0]
	}
	namespace := s.namespaceOf(of.pods[0].Key)
	if whole {
		k := s.kind(keys[0])
		end := End{Name: of.name, Namespace: namespace, Pods: len(of.pods)}
		for _, e := range of.pods {
			end.Keys = append(end.Keys, e.Key)
		}
		if of.standIn {
			end.Pods = 0
		}
		k.ends, k.pods = append(k.ends, end), k.pods+len(of.pods)
		return
	}
	for _, e := range of.pods {
		s.addPod(e, namespace)
	}
}

// addPod adds a pod as an end. If its addresses of a family differ in what they allow, each is an end.
func (s *survey) addPod(e *labelcache.Endpoint, namespace string) {
	end := End{Name: s.world.NameOf(e.Key), Namespace: namespace, Pods: 1, Keys: []object.Key{e.Key}}
	if key, single := s.keyOf(e); single {
		k := s.kind(key)
		k.ends, k.pods = append(k.ends, end), k.pods+1
		return
	}
	for _, a := range e.AllAddrs() {
		k := s.kind(kindKey(s.traitsOf(placeOf(e, a))))
		at := end
		at.Name += " at " + s.world.State.AddrText(a)
		k.ends, k.pods = append(k.ends, at), k.pods+1
	}
}

// keyOf is the traits of a pod by family. It returns false if its addresses of one family differ.
func (s *survey) keyOf(e *labelcache.Endpoint) (kindKey, bool) {
	key, single := kindKey{noTrait, noTrait}, true
	for _, a := range e.AllAddrs() {
		family, t := familyOf(a), s.traitOf[placeOf(e, a)]
		single = single && (key[family] == noTrait || key[family] == t)
		key[family] = t
	}
	return key, single
}

func placeOf(e *labelcache.Endpoint, a netip.Addr) reach.Place {
	return reach.Place{Party: intent.Party{Key: e.Key, Addr: a}}
}

// namespaceOf is the namespace of a pod, with its cluster if that is another one.
func (s *survey) namespaceOf(k object.Key) string {
	if k.Cluster == s.world.State.Cluster {
		return k.Namespace
	}
	return k.Cluster + "/" + k.Namespace
}

// choice is the places that a filter has; nil has all.
type choice struct {
	pods    map[object.Key]bool
	outside map[netip.Prefix]bool // single addresses that no pod has
}

func chosen(w *world.World, ends []world.End) *choice {
	if ends == nil {
		return nil
	}
	c := &choice{pods: map[object.Key]bool{}, outside: map[netip.Prefix]bool{}}
	for i := range ends {
		e := &ends[i]
		if e.Key != (object.Key{}) {
			c.pods[e.Key] = true
			continue
		}
		addrs := e.Addrs
		if e.Service != nil { // what policies see are the pods behind it
			addrs = nil
			for _, f := range e.Service.Frontends {
				for b := range f.Backends.All() {
					addrs = append(addrs, b.Addr)
				}
			}
		}
		for _, a := range addrs {
			pods := w.PodsAt(a)
			for _, pod := range pods {
				c.pods[pod.Key] = true
			}
			if len(pods) == 0 {
				c.outside[netip.PrefixFrom(a, a.BitLen())] = true
			}
		}
	}
	return c
}

// has reports whether the filter has a place.
func (c *choice) has(p reach.Place) bool {
	return c == nil || c.outside[p.Standing] || c.pods[p.Party.Key]
}

// prefixes are the addresses that the filter has and no pod has.
func (c *choice) prefixes() []netip.Prefix {
	if c == nil {
		return nil
	}
	return slices.Collect(maps.Keys(c.outside))
}

// spaces counts the ends by namespace.
func (s *survey) spaces() map[string]int {
	out := map[string]int{}
	for _, k := range s.kinds {
		for i := range k.ends {
			out[k.ends[i].Namespace]++
		}
	}
	return out
}
