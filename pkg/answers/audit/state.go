package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

const (
	maxNamespaces = 200 // on a side of the matrix
	maxTraffic    = 3   // texts of a cell
)

// State is what is audited.
type State struct {
	Snapshot *intent.Snapshot
	View     labelcache.View       // the endpoints that the snapshot was made with
	Created  map[object.Ref]string // when policies were created, as in Policy
	Staged   []object.Ref          // policies that are staged, which are not in the snapshot
}

// Of audits a state.
func Of(s State) Report {
	a := &auditor{State: s, guarded: lint.NewGuarded(s.Snapshot), spaces: map[string]*Namespace{}, pods: map[object.Key]*Pod{}}
	a.collect()
	a.classify()
	a.outside()
	a.matrix()
	a.policies()
	a.count()
	return a.out
}

// auditor is the state of an audit.
type auditor struct {
	State
	guarded *lint.Guarded
	out     Report
	spaces  map[string]*Namespace
	pods    map[object.Key]*Pod // by subject
	places  []reach.Place
	inside  []*reach.Class     // those with pods
	held    []map[string]tally // by class in inside: its addresses of pods by namespace
	world   []*reach.Class     // those with addresses outside
}

// collect lists pods and namespaces.
func (a *auditor) collect() {
	for e := range a.View.Endpoints() {
		k := e.Key.Subject()
		p := a.pods[k]
		if p == nil {
			p = &Pod{Namespace: k.Namespace, Name: k.Name, FromWorld: Access{Scope: None}, ToWorld: Access{Scope: None}, Ingress: true, Egress: true}
			a.pods[k] = p
		}
		p.Ingress, p.Egress = p.Ingress && a.guarded.Has(intent.Ingress, e.Key), p.Egress && a.guarded.Has(intent.Egress, e.Key)
		if a.spaces[p.Namespace] == nil {
			a.spaces[p.Namespace] = &Namespace{Name: p.Namespace}
		}
	}
}

// classify groups the pods and what is outside.
func (a *auditor) classify() {
	var endpoints []intent.Endpoint
	taken := map[netip.Addr]bool{}
	var unknown []string // pods without an address
	for e := range a.View.Endpoints() {
		addrs := e.AllAddrs()
		endpoints = append(endpoints, intent.Endpoint{Key: e.Key, Addrs: addrs, Node: e.Node})
		for _, addr := range addrs {
			taken[addr] = true
		}
		if len(addrs) == 0 {
			unknown = append(unknown, e.Key.Namespace+"/"+e.Key.Name)
		}
	}
	if len(unknown) > 0 {
		a.out.NotExamined = append(a.out.NotExamined,
			fmt.Sprintf("connections of %d pods without an address, such as %s", len(unknown), slices.Min(unknown)))
	}
	a.places = append(reach.PlacesOf(endpoints), reach.Outside(func(addr netip.Addr) bool { return taken[addr] }, a.Snapshot)...)
	for _, c := range reach.Classify(a.places, a.Snapshot) {
		held, outside := map[string]tally{}, false
		counted := map[object.Key]object.Key{} // by subject: the first pod
		for _, p := range c.Places {           // policies may treat pods and addresses outside alike
			if p.Standing.IsValid() {
				outside = true
				continue
			}
			k := p.Party.Key
			first, known := counted[k.Subject()]
			if !known {
				counted[k.Subject()] = k
			}
			held[k.Namespace] = held[k.Namespace].add(known && first != k)
		}
		if outside {
			a.world = append(a.world, c)
		}
		if len(held) > 0 {
			a.inside, a.held = append(a.inside, c), append(a.held, held)
		}
	}
}

// podsOf calls do for the pods of a class.
func (a *auditor) podsOf(c *reach.Class, do func(*Pod)) {
	for _, p := range c.Places {
		if !p.Standing.IsValid() {
			do(a.pods[p.Party.Key.Subject()])
		}
	}
}

// outside finds out what passes between pods and addresses outside.
func (a *auditor) outside() {
	nodes := a.nodes()
	areas, standings := reach.AreasOf(a.places), make([][]netip.Prefix, len(a.world)) // of each class; none of nodes
	for i, c := range a.world {
		standings[i] = areas.Of(slices.DeleteFunc(slices.Clone(c.Places), func(p reach.Place) bool { return nodes[p.Standing] }))
	}
	from, to := reach.NewTable(0, a.world, a.inside), reach.NewTable(0, a.inside, a.world)
	var column []int
	for j, c := range a.inside {
		column = from.Column(j, column)
		access := accessOf(from, column, standings)
		a.podsOf(c, func(p *Pod) { p.FromWorld.add(access) })
	}
	rows := make([][]int, len(a.inside)) // by class of pods: what passes to each class outside
	for j := range a.world {
		column = to.Column(j, column)
		for i, kind := range column {
			rows[i] = append(rows[i], kind)
		}
	}
	for i, c := range a.inside {
		access := accessOf(to, rows[i], standings)
		a.podsOf(c, func(p *Pod) { p.ToWorld.add(access) })
	}
}

// nodes lists the addresses of nodes, which always reach their own pods.
func (a *auditor) nodes() map[netip.Prefix]bool {
	out := map[netip.Prefix]bool{}
	for p := range a.Snapshot.Ranked(intent.TierSystem) {
		for i := range p.Rules {
			if set := a.Snapshot.Set(p.Rules[i].Peer.Set); set != nil {
				for _, prefix := range set.Prefixes {
					out[prefix] = true
				}
			}
		}
	}
	return out
}

// maxKinds is how many kinds of traffic are looked at to tell what most of the world can use: those with most addresses.
const maxKinds = 64

// accessOf is the access to or from classes outside with some kinds of traffic. If most of the world has access, Traffic is what most
// of it can use.
func accessOf(table *reach.Table, kinds []int, standings [][]netip.Prefix) Access {
	var all, world reach.Traffic
	prefixes := map[int][]netip.Prefix{} // by kind
	for i, kind := range kinds {
		if kind != reach.NoTraffic && !table.Kind(kind).Empty() && len(standings[i]) > 0 {
			all = all.Union(table.Kind(kind))
			prefixes[kind] = append(prefixes[kind], standings[i]...)
		}
	}
	if all.Empty() {
		return Access{Scope: None}
	}
	order := slices.Sorted(maps.Keys(prefixes))
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(weight(prefixes[y]), weight(prefixes[x])) })
	for _, kind := range order[:min(len(order), maxKinds)] {
		var with []netip.Prefix // with at least this traffic
		for other, list := range prefixes {
			if table.Kind(kind).Minus(table.Kind(other)).Empty() {
				with = append(with, list...)
			}
		}
		if lint.IsMost(with) {
			world = world.Union(table.Kind(kind))
		}
	}
	if !world.Empty() {
		return Access{World, world.String()}
	}
	return Access{Networks, all.String()}
}

// weight is the larger share of a family's addresses.
func weight(prefixes []netip.Prefix) float64 {
	return max(lint.Share(prefixes, true), lint.Share(prefixes, false))
}

// add adds the access of another address of the same pod.
func (x *Access) add(o Access) {
	rank := map[Scope]int{None: 0, Networks: 1, World: 2}
	switch {
	case rank[o.Scope] > rank[x.Scope]:
		*x = o
	case o.Scope == x.Scope && o.Traffic != x.Traffic && len(o.Traffic) > 0:
		first, second := min(x.Traffic, o.Traffic), max(x.Traffic, o.Traffic)
		x.Traffic = first + "; " + second
	}
}

// count sums up.
func (a *auditor) count() {
	for _, p := range a.pods {
		for _, c := range []*Counts{&a.spaces[p.Namespace].Counts, &a.out.Summary.Counts} {
			c.add(p)
		}
	}
	keys := slices.SortedFunc(maps.Keys(a.pods), object.Key.Compare)
	a.out.Pods, a.out.Namespaces = make([]Pod, 0, len(keys)), make([]Namespace, 0, len(a.spaces))
	for _, k := range keys {
		a.out.Pods = append(a.out.Pods, *a.pods[k])
	}
	for _, name := range slices.Sorted(maps.Keys(a.spaces)) {
		a.out.Namespaces = append(a.out.Namespaces, *a.spaces[name])
	}
	a.out.Summary.Namespaces, a.out.Summary.Policies = len(a.out.Namespaces), len(a.out.Policies)-len(a.Staged)
	a.out.Summary.Staged = len(a.Staged)
}

// add counts a pod.
func (c *Counts) add(p *Pod) {
	c.Pods++
	c.IsolatedIngress += number(p.Ingress)
	c.IsolatedEgress += number(p.Egress)
	c.FromWorld += number(p.FromWorld.Scope == World)
	c.ToWorld += number(p.ToWorld.Scope == World)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// policies lists the policies with their effect.
func (a *auditor) policies() {
	isolating := [2]map[object.Key]int{{}, {}}
	at := map[object.Ref]*Policy{}
	texts := map[object.Ref]string{}
	for p := range a.Snapshot.Policies() {
		if p.Tier == intent.TierSystem || object.IsNetwork(p.Origin.Kind) {
			continue
		}
		ref := p.Origin.Ref()
		if at[ref] == nil {
			at[ref] = &Policy{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, Created: a.Created[ref]}
		}
		out, set := at[ref], a.Snapshot.Set(p.Subject)
		out.Ingress, out.Egress = out.Ingress || p.Direction == intent.Ingress, out.Egress || p.Direction == intent.Egress
		out.Pods = max(out.Pods, set.Subjects())
		out.Rules += countPaths(p)
		texts[ref] += fmt.Sprintf("%d %d %s %d %v %+v\n", p.Direction, p.Tier, p.Subject, p.Priority, p.Isolates, p.Rules)
		if p.Isolates && set.Len() > 0 {
			for e := range set.Members.All() {
				isolating[p.Direction][e.Key]++
			}
		}
	}
	sole := map[object.Ref]map[object.Key]bool{}
	for p := range a.Snapshot.Policies() {
		set := a.Snapshot.Set(p.Subject)
		if !p.Isolates || set.Len() == 0 {
			continue
		}
		for e := range set.Members.All() {
			if isolating[p.Direction][e.Key] == 1 {
				if sole[p.Origin.Ref()] == nil {
					sole[p.Origin.Ref()] = map[object.Key]bool{}
				}
				sole[p.Origin.Ref()][e.Key.Subject()] = true
			}
		}
	}
	a.out.Policies = make([]Policy, 0, len(at)+len(a.Staged))
	for _, ref := range a.Staged {
		a.out.Policies = append(a.out.Policies, Policy{
			Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, Created: a.Created[ref], Staged: true, Digest: "staged",
		})
	}
	for ref, p := range at {
		sum := sha256.Sum256([]byte(texts[ref]))
		p.Sole, p.Digest = len(sole[ref]), hex.EncodeToString(sum[:8])
		a.out.Policies = append(a.out.Policies, *p)
	}
	slices.SortFunc(a.out.Policies, func(p, q Policy) int {
		return cmp.Or(cmp.Compare(number(p.Created == ""), number(q.Created == "")), cmp.Compare(p.Created, q.Created), cmp.Compare(p.name(), q.name()))
	})
}

// countPaths counts the rules of the object: a rule is several in the snapshot if a named port has several numbers.
func countPaths(p *intent.Policy) int {
	paths := map[string]bool{}
	for i := range p.Rules {
		paths[p.Rules[i].Path] = true
	}
	return len(paths)
}
