package backendtest

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// World is a small made-up cluster that changes at random. Equal seeds make equal worlds.
type World struct {
	rng      *rand.Rand
	pods     []pod // ordered by key
	policies []intent.Policy
	terms    map[intent.SetID]peerList // what each set named by a policy selects
	born     int                       // pods ever made
	written  int                       // policies ever made
	ticks    int
	dual     int // the tick from which on there is IPv6

	chance   *rand.Rand // for services and nodes, so that pods and policies do not depend on them
	services []service
	offered  int  // services ever made
	zones    int  // how often a node changed its zone
	third    bool // there is a third node

	dns     *rand.Rand // for names, so that nothing else depends on them
	answers map[string][]netip.Prefix

	common *rand.Rand // for rules that policies have in common, for the same reason
}

// pod is an endpoint with what selectors match.
type pod struct {
	intent.Endpoint
	app, tier string
	web       uint16 // the number of its port named web; 0 if it has none
	ending    bool   // it is terminating
}

// NewWorld makes a world with a few pods, policies and services.
func NewWorld(seed uint64) *World {
	w := &World{
		rng:   rand.New(rand.NewPCG(seed, 0x6e65746c6f6f6d)),
		terms: make(map[intent.SetID]peerList),

		chance: rand.New(rand.NewPCG(seed, 0x73657276696365)),

		dns:     rand.New(rand.NewPCG(seed, 0x6e616d6573)),
		answers: make(map[string][]netip.Prefix),

		common: rand.New(rand.NewPCG(seed, 0x636f6d6d6f6e)),
	}
	w.dual = w.rng.IntN(3) * 3
	for range 5 {
		w.addPod()
	}
	for range 3 {
		w.addPolicy()
	}
	for range 4 {
		w.addService()
	}
	return w
}

// History steps a new world n-1 times and returns the n states it was in.
func History(seed uint64, n int) []*State {
	w := NewWorld(seed)
	states := []*State{w.State()}
	for len(states) < n {
		w.Step()
		states = append(states, w.State())
	}
	return states
}

// Step changes one to three things about pods and policies, and one or two about services and nodes.
func (w *World) Step() {
	w.ticks++
	for range 1 + w.rng.IntN(3) {
		w.change()
	}
	for range 1 + w.chance.IntN(2) {
		w.changeService()
	}
	if w.dns.IntN(2) == 0 {
		w.answer(pick(w.dns, names()))
	}
}

func (w *World) change() {
	switch n := w.rng.IntN(10); {
	case n < 2 && len(w.pods) < 9:
		w.addPod()
	case n < 3 && len(w.pods) > 3:
		i := w.rng.IntN(len(w.pods))
		w.pods = slices.Delete(w.pods, i, i+1)
	case n < 4:
		p := &w.pods[w.rng.IntN(len(w.pods))]
		p.Addrs = w.addrs()
	case n < 6:
		w.relabel()
	case n < 8 && len(w.policies) < 7:
		w.addPolicy()
	case n < 9 && len(w.policies) > 1:
		i := w.rng.IntN(len(w.policies))
		w.policies = slices.Delete(w.policies, i, i+1)
	default:
		if len(w.policies) > 0 {
			i := w.rng.IntN(len(w.policies))
			w.policies[i] = w.policy(w.policies[i].ID, w.policies[i].Origin, w.policies[i].Direction)
		}
	}
}

// Relabel changes labels of one pod and nothing else, for membership churn.
func (w *World) Relabel() { w.relabel() }

func (w *World) relabel() {
	p := &w.pods[w.rng.IntN(len(w.pods))]
	p.app, p.tier = pick(w.rng, apps()), pick(w.rng, tiers())
	p.web = pick(w.rng, webs())
}

// What pods and terms choose from.
func namespaces() []string { return []string{"red", "blue"} }
func apps() []string       { return []string{"web", "db", "api"} }
func tiers() []string      { return []string{"front", "back"} }
func nodes() []string      { return []string{"n1", "n2"} }
func webs() []uint16       { return []uint16{0, 80, 8080} }

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func (w *World) addPod() {
	w.born++
	w.pods = append(w.pods, pod{
		Endpoint: intent.Endpoint{
			Key:   object.Key{Namespace: pick(w.rng, namespaces()), Name: fmt.Sprintf("p-%d", w.born)},
			Addrs: w.addrs(),
			Node:  pick(w.rng, nodes()),
		},
		app: pick(w.rng, apps()), tier: pick(w.rng, tiers()), web: pick(w.rng, webs()),
		ending: w.chance.IntN(5) == 0,
	})
	slices.SortFunc(w.pods, func(a, b pod) int { return a.Key.Compare(b.Key) })
}

// addrs returns the addresses of a new endpoint: of one family or both, sometimes those of another.
func (w *World) addrs() []netip.Addr {
	if len(w.pods) > 0 && w.rng.IntN(6) == 0 {
		return slices.Clone(w.pods[w.rng.IntN(len(w.pods))].Addrs)
	}
	host := byte(1 + w.rng.IntN(40))
	v4 := netip.AddrFrom4([4]byte{10, 244, byte(w.rng.IntN(2)), host})
	v6 := netip.MustParseAddr(fmt.Sprintf("fd00:10:%x::%x", w.rng.IntN(2), host))
	switch n := w.rng.IntN(6); {
	case w.ticks < w.dual || n < 2:
		return []netip.Addr{v4}
	case n < 3:
		return []netip.Addr{v6}
	default:
		return []netip.Addr{v4, v6}
	}
}

// State returns the world as plain data, with the sets that its policies name.
func (w *World) State() *State {
	s := &State{Staged: true, Policies: slices.Clone(w.policies), LoadBalancers: w.balancers(), Nodes: w.nodeList()}
	for _, p := range w.pods {
		s.Endpoints = append(s.Endpoints, p.Endpoint)
	}
	seen := make(map[intent.SetID]bool)
	name := func(id intent.SetID) {
		if id == "" || seen[id] {
			return
		}
		seen[id] = true
		list := w.terms[id]
		spec := SetSpec{ID: id, Prefixes: list.prefixes, Hosts: list.hosts, Within: list.within}
		for _, name := range list.hosts {
			spec.Prefixes = intent.MergePrefixes(slices.Concat(spec.Prefixes, w.answers[name]))
		}
		for _, p := range w.pods {
			if list.selects(p) {
				spec.Keys = append(spec.Keys, p.Key)
			}
		}
		s.Sets = append(s.Sets, spec)
	}
	w.share(s.Policies)
	for i := range s.Policies {
		p := &s.Policies[i]
		name(p.Subject)
		for j := range p.Rules {
			name(p.Rules[j].Subject)
			name(p.Rules[j].Peer.Set)
			for _, part := range p.Rules[j].Parts {
				name(part.Peer.Set)
			}
		}
	}
	s.Sets = append(s.Sets, w.sharedSets(s)...)
	return s
}

// peerList is the content of a set: the pods that any of its terms selects, as far as their addresses are within, prefixes, and the
// addresses of names.
type peerList struct {
	terms    []term
	prefixes []netip.Prefix
	hosts    []string
	within   []netip.Prefix
}

// term selects pods; an empty field accepts every value.
type term struct {
	namespace, app, tier, node string
	web                        uint16
}

func (t term) selects(p pod) bool {
	return (t.namespace == "" || t.namespace == p.Key.Namespace) && (t.app == "" || t.app == p.app) &&
		(t.tier == "" || t.tier == p.tier) && (t.node == "" || t.node == p.Node) && (t.web == 0 || t.web == p.web)
}

func (l peerList) selects(p pod) bool {
	return slices.ContainsFunc(l.terms, func(t term) bool { return t.selects(p) })
}

// id formats l, so that equal lists share a set.
func (l peerList) id() intent.SetID {
	var parts []string
	for _, t := range l.terms {
		parts = append(parts, fmt.Sprintf("pods(ns=%s,app=%s,tier=%s,node=%s,web=%d)", t.namespace, t.app, t.tier, t.node, t.web))
	}
	for _, p := range l.prefixes {
		parts = append(parts, p.String())
	}
	parts = append(parts, l.hosts...)
	id := strings.Join(parts, " or ")
	for _, p := range l.within {
		id += " within " + p.String()
	}
	return intent.SetID(id)
}

// set records what a list selects and names it.
func (w *World) set(l peerList) intent.SetID {
	w.terms[l.id()] = l
	return l.id()
}
