package network

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// othersRule is the name of a rule that denies what does not pass between two networks.
const othersRule = "pods on other networks"

// snapshot is that of the state with the policies that networks amount to.
func (e *evaluation) snapshot() *intent.Snapshot {
	b := e.state.Snapshot.Variant()
	e.separate(b)
	for _, s := range e.private {
		e.admit(b, s)
	}
	return b.Commit()
}

// separate denies what would pass between two networks, in both directions. The pods that are not on a network are those of ranges of a
// tree over all networks, so that n networks take n log n rules. The default network comes last but one, its DNS last.
func (e *evaluation) separate(b *intent.Builder) {
	if len(e.networks) == 0 {
		return
	}
	on := map[object.Key]bool{}
	leaves := make([][]*labelcache.Endpoint, 0, len(e.networks)+2)
	for _, n := range e.networks {
		leaves = append(leaves, n.members)
		for _, m := range n.members {
			on[m.Key] = true
		}
	}
	var others, dns []*labelcache.Endpoint
	for _, pod := range e.pods {
		switch {
		case on[pod.Key]:
		case e.dns[pod.Key]:
			dns = append(dns, pod)
		default:
			others = append(others, pod)
		}
	}
	t := &tree{b: b, leaves: append(leaves, others, dns), made: map[[2]int]intent.SetID{}}
	for i, n := range e.networks {
		subject := intent.SetID("network/" + n.id())
		b.CreateSet(&intent.Set{ID: subject, Members: newMembers(n.members), Title: "pods of " + n.id()})
		for _, d := range intent.Directions() {
			last := len(t.leaves)
			if d == intent.Egress && n.dns {
				last--
			}
			p := e.policy(n.object, d, intent.TierSystem, subject, n.members)
			for _, peers := range append(t.cover(0, i), t.cover(i+1, last)...) {
				p.Rules = append(p.Rules, intent.Rule{
					Path: "spec", Name: othersRule, Action: intent.Deny,
					Peer: intent.Peer{Kind: intent.PeerSet, Set: peers}, Ports: intent.Ports{Any: true},
				})
			}
			if len(p.Rules) > 0 {
				b.PutPolicy(p)
			}
		}
	}
}

func (e *evaluation) policy(
	of *world.NetworkObject, d intent.Direction, t intent.Tier, subject intent.SetID, members []*labelcache.Endpoint,
) *intent.Policy {
	origin := intent.Origin{Cluster: e.state.Cluster, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}
	return &intent.Policy{
		ID: intent.NewPolicyID(origin, d), Origin: origin, Direction: d, Tier: t, Subject: subject, Namespaces: namespacesOf(members),
	}
}

// admit lets a private Subnet be reached from itself and the blocks that it allows, unless NetworkPolicies decide: their ACLs have other
// priorities, see subnets.
func (e *evaluation) admit(b *intent.Builder, s *subnet) {
	subject := intent.SetID("network/" + s.id())
	b.CreateSet(&intent.Set{ID: subject, Members: newMembers(s.members), Title: "pods of " + s.id()})
	p := e.policy(s.object, intent.Ingress, intent.TierBaseline, subject, s.members)
	allow := func(path string, peers *intent.Set) {
		peers.ID = intent.SetID(fmt.Sprintf("network/%s/%s", s.id(), path))
		b.CreateSet(peers)
		p.Rules = append(p.Rules, intent.Rule{
			Path: path, Action: intent.Allow, Peer: intent.Peer{Kind: intent.PeerSet, Set: peers.ID}, Ports: intent.Ports{Any: true},
		})
	}
	allow("spec.cidrBlock", &intent.Set{Members: newMembers(s.members), Prefixes: s.cidr, Title: "pods of " + s.id()})
	if len(s.allows) > 0 {
		allow("spec.allowSubnets", &intent.Set{Members: newMembers(s.allowed), Prefixes: s.allows, Title: intent.PrefixText(s.allows)})
	}
	p.Rules = append(p.Rules, intent.Rule{Path: "spec.private", Action: intent.Deny, Peer: intent.Peer{Kind: intent.PeerAny}, Ports: intent.Ports{Any: true}})
	b.PutPolicy(p)
}

// tree makes sets of the pods of ranges of networks.
type tree struct {
	b      *intent.Builder
	leaves [][]*labelcache.Endpoint
	made   map[[2]int]intent.SetID // by first and end
}

// cover lists sets that together have the pods of the leaves from one to before another.
func (t *tree) cover(first, end int) []intent.SetID { return t.within(0, len(t.leaves), first, end) }

func (t *tree) within(low, high, first, end int) []intent.SetID {
	switch {
	case first >= high || end <= low || low >= high:
		return nil
	case first <= low && high <= end:
		return t.set(low, high)
	}
	middle := (low + high) / 2
	return append(t.within(low, middle, first, end), t.within(middle, high, first, end)...)
}

func (t *tree) set(first, end int) []intent.SetID {
	at := [2]int{first, end}
	id, known := t.made[at]
	if !known {
		members := slices.Concat(t.leaves[first:end]...)
		if len(members) > 0 {
			id = intent.SetID(fmt.Sprintf("network/%d-%d", first, end))
			t.b.CreateSet(&intent.Set{ID: id, Members: newMembers(members), Title: othersRule})
		}
		t.made[at] = id
	}
	if id == "" {
		return nil
	}
	return []intent.SetID{id}
}

// members is a list of pods.
type members struct {
	list   []intent.Endpoint
	keys   map[object.Key]bool
	addrs  map[netip.Addr]bool
	shared map[netip.Addr]bool
}

func newMembers(pods []*labelcache.Endpoint) *members {
	m := &members{keys: map[object.Key]bool{}, addrs: map[netip.Addr]bool{}, shared: map[netip.Addr]bool{}}
	for _, p := range pods {
		m.list = append(m.list, intent.Endpoint{Key: p.Key, Addrs: p.Addrs, Shared: p.Shared, Node: p.Node})
		m.keys[p.Key] = true
		for _, a := range p.Addrs {
			m.addrs[a] = true
		}
		for _, a := range p.Shared {
			m.shared[a] = true
		}
	}
	return m
}

// Len implements intent.Members.
func (m *members) Len() int { return len(m.list) }

// All implements intent.Members.
func (m *members) All() iter.Seq[intent.Endpoint] { return slices.Values(m.list) }

// HasKey implements intent.Members.
func (m *members) HasKey(k object.Key) bool { return m.keys[k] }

// HasAddr implements intent.Members.
func (m *members) HasAddr(a netip.Addr) bool { return m.addrs[a] }

// HasSharedAddr implements intent.Members.
func (m *members) HasSharedAddr(a netip.Addr) bool { return m.shared[a] }
