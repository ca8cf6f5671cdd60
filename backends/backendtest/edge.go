package backendtest

import (
	"slices"
	"testing"

	"github.com/netloom/netloom/pkg/intent"
)

// Edge is a target that is a gateway at the edge of a cluster, and less than a database: packets come by, but it knows no
// endpoints. The contract lets go of what that cannot be held against:
//
//   - Snapshots have its Gateway, every policy is for the scope of that, and there are no load balancers and nodes, which
//     is for others; so nothing is asked about VIPs.
//   - Endpoints and probes are of its Families.
//   - Flows are judged by their addresses alone. An address that several endpoints hold is one thing.
//   - It has no transactions and no fields of many values. One event may be several writes and other verbs than Mutate,
//     as long as it is a small part of what is owned. What a plan opens and cuts is looked at after every write as well.
type Edge interface {
	// Gateway is the gateway of every snapshot.
	Gateway() *intent.Gateway
	// Families are those of packets.
	Families() intent.Families
}

// edgeOf is the target as an Edge, nil when it is none.
func edgeOf(t *testing.T, fresh Factory) Edge {
	t.Helper()
	e, _ := fresh(t).(Edge)
	return e
}

// see is s as the target can be asked for it.
func (c *contract) see(s *State) *State {
	if c.edge == nil {
		return s
	}
	seen := *s
	seen.LoadBalancers, seen.Nodes = nil, nil
	seen.Gateways = []*intent.Gateway{c.edge.Gateway()}
	seen.Endpoints = slices.Clone(s.Endpoints)
	for i := range seen.Endpoints {
		e := &seen.Endpoints[i]
		e.Addrs = nil
		for _, a := range s.Endpoints[i].Addrs {
			if c.edge.Families().Has(intent.FamilyOf(a)) {
				e.Addrs = append(e.Addrs, a)
			}
		}
	}
	seen.Policies = slices.Clone(s.Policies)
	for i := range seen.Policies {
		seen.Policies[i].Edge = c.edge.Gateway().Scope
	}
	return &seen
}

// probes are Probes as the target can be asked about them.
func (c *contract) probes(states ...*State) []intent.Flow {
	flows := Probes(states...)
	if c.edge == nil {
		return flows
	}
	known := map[intent.Flow]bool{}
	return slices.DeleteFunc(flows, func(f intent.Flow) bool {
		f.Src.Key, f.Dst.Key, f.Node = intent.Key{}, intent.Key{}, ""
		twice := known[f]
		known[f] = true
		return twice || !c.edge.Families().Has(intent.FamilyOf(f.Src.Addr))
	})
}

// An edge's writes are many and alike, and to ask it about a packet is to walk through its rules. So of either only some are
// looked at, others each time.
const (
	fewerFlows  = 41
	fewerWrites = 4
)

// some is flows, or those of an edge that it is asked about the n-th time.
func (c *contract) some(flows []intent.Flow, n int) []intent.Flow {
	if c.edge == nil {
		return flows
	}
	var out []intent.Flow
	for i := n % fewerFlows; i < len(flows); i += fewerFlows {
		out = append(out, flows[i])
	}
	return out
}

// following is which write goes wrong after the k-th did: the next, or one further on.
func (c *contract) following(k int) int {
	if c.edge == nil || k < fewerWrites {
		return k + 1
	}
	return k + k*k/fewerWrites
}

// advanceGateways makes the gateways of b those of s.
func advanceGateways(b *intent.Builder, from *intent.Snapshot, s *State) {
	for _, g := range s.Gateways {
		if from.Gateway(g.ID) != g {
			b.PutGateway(g)
		}
	}
	for g := range from.Gateways() {
		if !slices.Contains(s.Gateways, g) {
			b.DropGateway(g.ID)
		}
	}
}

// anonymous is a flow of which only the addresses are known, where the target knows no more.
func anonymous(target Target, f intent.Flow) intent.Flow {
	if _, is := target.(Edge); is {
		f.Src.Key, f.Dst.Key, f.Node = intent.Key{}, intent.Key{}, ""
	}
	return f
}
