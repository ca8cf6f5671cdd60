package web

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/serve/web/draft"
	"github.com/netloom/netloom/translator"
)

// newest keeps the results for the newest state that was requested.
type newest struct {
	translation translator.Options // how states are made

	mu sync.Mutex
	of *board
}

// board returns the board of a state. That of an older state than the newest is made for this request only.
func (n *newest) board(s State) *board {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of != nil && n.of.state.Number == s.Number {
		return n.of
	}
	b := &board{state: s}
	b.promotion = sync.OnceValue(b.state.promotion)
	b.unjudged = sync.OnceValue(b.state.Reading.ByNamespace)
	b.inventory = sync.OnceValue(func() *world.World { return world.New(b.state.with(b.promotion(), n.translation)) })
	b.ground = sync.OnceValue(func() *ground { return newGround(s.State) })
	b.policyList = sync.OnceValue(b.listPolicies)
	b.pods = sync.OnceValue(b.listPods)
	b.podNames = sync.OnceValue(b.namePods)
	b.namespaceSet = sync.OnceValue(b.listNamespaces)
	b.reports.most = maxReports
	if n.of == nil || n.of.state.Number < s.Number {
		n.of = b
	}
	return b
}

// board is what responses are made from: a state and the results for it, each computed on first use.
type board struct {
	state      State
	promotion  func() world.Promotion // of the staged policies
	inventory  func() *world.World
	unjudged   func() *world.Unjudged // what is not evaluated
	ground     func() *ground
	policyList func() []PolicyLine
	matrices   memory

	pods         func() map[object.Key]*labelcache.Endpoint // of all clusters
	podNames     func() map[string]object.Key               // by the names that flows have
	namespaceSet func() map[string]bool                     // with a pod; see spaceOf
	reports      memory                                     // what connections are allowed, by filter
	maps         memory
}

// unread lists what the state lacks and may decide on connections, one line each.
func (b *board) unread() []string {
	return append(b.inventory().Unknown(), b.state.Reading.Doubts()...)
}

// WithStaged is the state with its staged policies, and what they would mean.
func (s *State) WithStaged(opts translator.Options) world.State { return s.with(s.promotion(), opts) }

// promotion is of the staged policies.
func (s *State) promotion() world.Promotion {
	return world.Promote(slices.Values(slices.Concat(s.world(), s.policies())))
}

func (s *State) with(promotion world.Promotion, opts translator.Options) world.State {
	out := s.State
	if len(promotion.Staged) == 0 {
		return out
	}
	out.Staged = promotion.Staged
	of := s.State
	out.WouldBe = func() world.State {
		would, err := draft.Make(of, s.world(), draft.Edit{Put: promotion.Put, Removed: promotion.Removed}, opts)
		if err != nil {
			return of // every object of a state can be translated, since it was
		}
		return would
	}
	return out
}

// listPods lists the pods of all clusters.
func (b *board) listPods() map[object.Key]*labelcache.Endpoint {
	out := map[object.Key]*labelcache.Endpoint{}
	for _, e := range b.inventory().Endpoints() {
		out[e.Key] = e
	}
	return out
}

// namePods names the pods of all clusters.
func (b *board) namePods() map[string]object.Key {
	out := map[string]object.Key{}
	for _, e := range b.inventory().Endpoints() {
		out[b.inventory().NameOf(e.Key)] = e.Key
	}
	return out
}

// listNamespaces lists the namespaces that have a pod.
func (b *board) listNamespaces() map[string]bool {
	out := map[string]bool{}
	for _, e := range b.inventory().Endpoints() {
		out[b.spaceOf(e.Key)] = true
	}
	return out
}

// memory caches a few responses by request. The zero value is empty.
type memory struct {
	most int // responses that it keeps; 0 is maxKept

	mu   sync.Mutex
	kept map[string]any
}

// maxKept is how many responses a memory keeps, and maxReports how many lists of all connections: these are large.
const (
	maxKept    = 16
	maxReports = 2
)

// answer returns the cached result of work, or calls it. Only one call runs at a time: equal requests get the same result.
func (m *memory) answer(asked string, work func() (any, error)) (any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.kept[asked]; known != nil {
		return known, nil
	}
	answer, err := work()
	if err != nil {
		return nil, err
	}
	if m.kept == nil || len(m.kept) >= cmp.Or(m.most, maxKept) {
		m.kept = map[string]any{}
	}
	m.kept[asked] = answer
	return answer, nil
}

// ground is the pods of a state and the addresses outside, in classes that policies treat alike. Nodes and the rules about
// them are left out: since a node reaches its own pods, every pod and node would become a class. So are pods of other clusters,
// whose policies are not known.
type ground struct {
	own     int            // pods of the cluster
	others  map[string]int // pods of other clusters, by cluster
	classes []*reach.Class
	// pods are the endpoints with an address, by key, each with the numbers of its addresses' classes.
	pods    []groundPod
	outside []groundOutside
}

type groundPod struct {
	*labelcache.Endpoint
	classes []int // in order, each once
}

// groundOutside is a set of addresses outside the cluster that policies treat alike.
type groundOutside struct {
	class    int
	example  netip.Addr
	titles   []string // as in policies, including what narrower ones have
	prefixes []netip.Prefix
}

// familiar returns addresses used in documentation: a class that contains one has it as its example.
func familiar() []netip.Addr {
	return []netip.Addr{
		netip.AddrFrom4([4]byte{203, 0, 113, 7}), netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 7}),
	}
}

func newGround(s world.State) *ground {
	snapshot := withoutNodes(s.Snapshot)
	g := &ground{others: map[string]int{}}
	var endpoints []intent.Endpoint
	held := map[netip.Addr]bool{}
	for e := range s.View.Endpoints() {
		for _, a := range e.Addrs {
			held[a] = true
		}
		if e.Key.Cluster != s.Cluster {
			g.others[e.Key.Cluster]++
			continue
		}
		if g.own++; len(e.Addrs) == 0 {
			continue
		}
		g.pods = append(g.pods, groundPod{Endpoint: e})
		endpoints = append(endpoints, intent.Endpoint{Key: e.Key, Addrs: e.Addrs, Node: e.Node})
	}
	slices.SortFunc(g.pods, func(a, b groundPod) int { return a.Key.Compare(b.Key) })
	places := append(reach.PlacesOf(endpoints), reach.Outside(func(a netip.Addr) bool { return held[a] }, snapshot)...)
	g.classes = reach.Classify(places, snapshot)
	areas := reach.AreasOf(places)
	at := map[object.Key][]int{}
	for i, c := range g.classes {
		out := groundOutside{class: i, prefixes: areas.Of(c.Places)}
		for _, p := range c.Places {
			if p.Standing.IsValid() {
				out.example = cmp.Or(out.example, p.Party.Addr)
				out.titles = append(out.titles, p.Standing.String())
				continue
			}
			if in := at[p.Party.Key]; len(in) == 0 || in[len(in)-1] != i {
				at[p.Party.Key] = append(in, i)
			}
		}
		for _, a := range familiar() {
			if slices.ContainsFunc(out.prefixes, func(p netip.Prefix) bool { return p.Contains(a) && !held[a] }) {
				out.example = a
			}
		}
		if out.example.IsValid() {
			g.outside = append(g.outside, out)
		}
	}
	for i := range g.pods {
		g.pods[i].classes = at[g.pods[i].Key]
	}
	return g
}

// withoutNodes returns a snapshot without its nodes.
func withoutNodes(s *intent.Snapshot) *intent.Snapshot {
	next := s.Variant()
	used := map[intent.SetID]bool{}
	for p := range s.Policies() {
		if p.Origin.Kind == object.KindNode {
			next.DropPolicy(p.ID)
			continue
		}
		used[p.Subject] = true
		for i := range p.Rules {
			used[p.Rules[i].Subject], used[p.Rules[i].Peer.Set] = true, true
			for _, id := range s.Sources(p.Rules[i].Peer.Set) {
				used[id] = true
			}
			for _, part := range p.Rules[i].Parts {
				used[part.Shared], used[part.Peer.Set] = true, true
			}
		}
	}
	for set := range s.Sets() {
		if !used[set.ID] {
			next.DropSet(set.ID)
		}
	}
	return next.Commit()
}
