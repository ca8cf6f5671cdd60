package backendtest

import (
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// nodes returns the nodes of s.
func (s *State) nodes() []*intent.Node {
	list := make([]*intent.Node, 0, len(s.Nodes))
	for i := range s.Nodes {
		list = append(list, &s.Nodes[i])
	}
	return list
}

// advanceBalancers gives b the load balancers and nodes of s, in an order that shuffle decides.
func advanceBalancers(b *intent.Builder, from *intent.Snapshot, s *State, shuffle *rand.Rand) {
	nodes, balancers := s.nodes(), slices.Clone(s.LoadBalancers)
	if shuffle != nil {
		shuffle.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		shuffle.Shuffle(len(balancers), func(i, j int) { balancers[i], balancers[j] = balancers[j], balancers[i] })
	}
	wanted := make(map[string]bool)
	for _, n := range nodes {
		wanted["node "+n.Name] = true
		if old := from.Node(n.Name); old == nil || !reflect.DeepEqual(old, n) {
			b.PutNode(n)
		}
	}
	for i := range balancers {
		lb := &balancers[i]
		wanted["balancer "+string(lb.ID)] = true
		if old := from.LoadBalancer(lb.ID); old == nil || !reflect.DeepEqual(old, lb) {
			b.PutLoadBalancer(lb)
		}
	}
	for lb := range from.LoadBalancers() {
		if !wanted["balancer "+string(lb.ID)] {
			b.DropLoadBalancer(lb.ID)
		}
	}
	for n := range from.Nodes() {
		if !wanted["node "+n.Name] {
			b.DropNode(n.Name)
		}
	}
}

// elsewhere returns s with every frontend at another address, or at another port of its node: what another owner may want.
func (s *State) elsewhere() *State {
	moved := *s
	moved.LoadBalancers = nil
	for _, lb := range s.LoadBalancers {
		lb.Frontends = slices.Clone(lb.Frontends)
		for i := range lb.Frontends {
			if f := &lb.Frontends[i]; f.Kind == intent.NodePort {
				f.Port += 1000
			} else {
				raw := f.Addr.AsSlice()
				raw[1] ^= 0x40
				f.Addr, _ = netip.AddrFromSlice(raw)
			}
		}
		slices.SortFunc(lb.Frontends, func(a, b intent.Frontend) int { return a.Compare(&b) })
		moved.LoadBalancers = append(moved.LoadBalancers, lb)
	}
	return &moved
}
