package backendtest

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Stepwise is a target without transactions: each op is a request of its own, and each state between two requests is judged. The
// contract does not require what such a target cannot do:
//
//   - It gives an address to one endpoint only, so no two endpoints have the same one.
//   - It knows an endpoint by its interface, whatever its address: on the way from one state to the next, flows are judged between
//     addresses that do not change.
//   - One event may take several writes, but each is a Mutate of one value, and there are no more of them than values that change.
//   - A plan that opens some connections and closes others may close first. It then opens nothing that both states deny, as any
//     plan, but may drop for a moment what both states allow by different rules.
//   - A load balancer whose ports change may be without backends for a moment.
//   - What is sent to the address of a load balancer at a port that it does not have never arrives, whatever policies say: it is not
//     judged.
//   - Nodes do not send to load balancers, only to endpoints.
//   - An endpoint reaches itself through a load balancer by way of the network, where its policies count: that is not judged.
type Stepwise interface {
	// MayDrop reports whether a plan of a backend, not yet applied, closes first.
	MayDrop(b backends.Backend, p *backends.Plan) bool
}

// Stepped returns the part of s that the contract asks a Stepwise target for.
func Stepped(s *State) *State {
	seen := *s
	seen.Endpoints, seen.LoadBalancers = alone(s.Endpoints), simplified(s.LoadBalancers)
	return &seen
}

// alone returns endpoints of which no two have an address in common: the first keeps it.
func alone(endpoints []intent.Endpoint) []intent.Endpoint {
	out := slices.Clone(endpoints)
	taken := map[netip.Addr]bool{}
	for i := range out {
		out[i].Addrs = nil
		for _, a := range endpoints[i].Addrs {
			if !taken[a] {
				taken[a] = true
				out[i].Addrs = append(out[i].Addrs, a)
			}
		}
	}
	return out
}

// simplified returns load balancers of which two thirds have nothing but cluster addresses: what a Stepwise target skips is hardly
// judged, and few of a World have no feature that one of them skips.
func simplified(balancers []intent.LoadBalancer) []intent.LoadBalancer {
	out := slices.Clone(balancers)
	for i := range out {
		lb := &out[i]
		if len(lb.ID)%3 == 0 {
			continue
		}
		lb.Affinity, lb.Network, lb.Frontends = 0, "", nil
		for _, f := range balancers[i].Frontends {
			if f.Kind != intent.ClusterAddress {
				continue
			}
			var known []intent.Backend
			for b := range f.Backends.All() {
				if b.Key != (object.Key{}) {
					plain := *b
					plain.ForNodes, plain.ForZones = nil, nil
					known = append(known, plain)
				}
			}
			f.Locality, f.Backends = intent.Anywhere, intent.NewBackends(known...)
			lb.Frontends = append(lb.Frontends, f)
		}
	}
	return out
}

// moved reports whether an end of a flow exists in s without the address that it has in the flow.
func (s *State) moved(f intent.Flow) bool {
	return slices.ContainsFunc(s.Endpoints, func(e intent.Endpoint) bool {
		return e.Key == f.Src.Key && !slices.Contains(e.Addrs, f.Src.Addr) || e.Key == f.Dst.Key && !slices.Contains(e.Addrs, f.Dst.Addr)
	})
}

// mayDrop reports whether a plan of l may drop for a moment what both states allow.
func (l *loop) mayDrop(p *backends.Plan) bool {
	s, is := l.target.(Stepwise)
	return is && s.MayDrop(l.backend, p)
}

// stepwiseChurn checks the plan for members that joined and left: each op adds or removes one value.
func stepwiseChurn(t *testing.T, p *backends.Plan, budget int) {
	t.Helper()
	require.LessOrEqual(t, len(p.Ops), budget, "more is written than what joined and left")
	for i := range p.Ops {
		op := &p.Ops[i]
		require.Equal(t, backends.Mutate, op.Verb, "%s %q", op.Kind, op.Name)
		values := 0
		for _, fields := range []backends.Fields{op.Before, op.After} {
			for _, v := range fields {
				list, _ := v.([]string)
				values += len(list)
			}
		}
		require.Equal(t, 1, values, "%s %q", op.Kind, op.Name)
	}
}

// besideFrontends reports whether a flow is to the cluster address of a load balancer from a node, or at a port that it has in none of
// the states.
func besideFrontends(f intent.Flow, states []*State) bool {
	beside := false
	for _, s := range states {
		for i := range s.LoadBalancers {
			for _, front := range s.LoadBalancers[i].Frontends {
				if front.Kind != intent.ClusterAddress || front.Addr != f.Dst.Addr {
					continue
				}
				if slices.Contains(nodeAddrs(), f.Src.Addr) {
					return true
				}
				if front.Protocol == f.Protocol && front.Port == f.Port {
					return false
				}
				beside = true
			}
		}
	}
	return beside
}
