package backendtest

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// backendChurn lets one backend of one load balancer among many come and go.
func (c *contract) backendChurn(t *testing.T) {
	for name, locality := range map[string]intent.Locality{"anywhere": intent.Anywhere, "on the flow's node": intent.NodeOfFlow} {
		t.Run(name, func(t *testing.T) {
			target := c.fresh(t)
			s := shops(40, 5, locality)
			l, snap := start(t, target, "a"), s.Snapshot()
			skipped := skippedBy(l.reconcile(t, s, snap).Skips)
			for _, backends := range []int{4, 5, 1, 0, 2, 5} {
				if backends == 0 && locality != intent.Anywhere {
					continue // a frontend that no node serves is refused at all of them, which may be another row
				}
				next := *s
				next.LoadBalancers = append([]intent.LoadBalancer{}, s.LoadBalancers...)
				next.LoadBalancers[17] = shop(17, backends, locality)
				snap = Advance(snap, &next)
				writes := target.Writes(t)
				p := l.reconcile(t, &next, snap)
				if skipped[string(next.LoadBalancers[17].ID)] {
					require.Empty(t, p.Ops, "what is skipped is written")
					continue
				}
				require.Equal(t, writes+1, target.Writes(t), "one event, one transaction")
				onlyEntries(t, p, locality != intent.Anywhere, len(next.LoadBalancers[17].Frontends))
				judge(t, target, snap, l.skips, Probes(&next))
				require.Equal(t, c.scratch(t, &next), target.DumpOwner(t, "a"))
			}
		})
	}
}

// onlyEntries checks that a plan changes nothing but entries of maps: in one row, or in one for each node, and no more
// of them than there are frontends.
func onlyEntries(t *testing.T, p *backends.Plan, perNode bool, frontends int) {
	t.Helper()
	rows := 1
	if perNode {
		rows = len(nodes())
	}
	require.NotEmpty(t, p.Ops)
	require.LessOrEqual(t, len(p.Ops), rows, "%v", opsText(p))
	entries := 0
	for i := range p.Ops {
		op := &p.Ops[i]
		require.Equal(t, backends.Mutate, op.Verb, "%s %q", op.Kind, op.Name)
		for _, fields := range []backends.Fields{op.Before, op.After} {
			for name, v := range fields {
				m, ok := v.(map[string]string)
				require.True(t, ok, "%s of %q is mutated and is no map", name, op.Name)
				entries += len(m)
			}
		}
	}
	// Each entry is removed as it was and added as it is; with nodes there is one for each of them and one for all others.
	require.LessOrEqual(t, entries, 2*frontends*(1+len(nodes())), "%v", opsText(p))
}

// shops returns n shops with that many backends each, and two nodes.
func shops(n, backends int, locality intent.Locality) *State {
	s := &State{Nodes: []intent.Node{{Name: nodes()[0]}, {Name: nodes()[1]}}}
	for i := range backends {
		s.Endpoints = append(s.Endpoints, intent.Endpoint{
			Key:   object.Key{Namespace: "shop", Name: fmt.Sprintf("b-%d", i)},
			Addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, 244, 9, byte(i + 1)})},
			Node:  nodes()[i%2],
		})
	}
	for i := range n {
		s.LoadBalancers = append(s.LoadBalancers, shop(i, backends, locality))
	}
	return s
}

// shop returns the i-th load balancer among shops.
func shop(i, backends int, locality intent.Locality) intent.LoadBalancer {
	o := intent.Origin{Kind: "Service", Namespace: "shop", Name: fmt.Sprintf("s-%d", i)}
	var pool []intent.Backend
	for j := range backends {
		pool = append(pool, intent.Backend{
			Addr: netip.AddrFrom4([4]byte{10, 244, 9, byte(j + 1)}), Port: 8080, Node: nodes()[j%2],
			Key: object.Key{Namespace: "shop", Name: fmt.Sprintf("b-%d", j)},
		})
	}
	return intent.LoadBalancer{
		ID: intent.LoadBalancerID(o.String()), Origin: o, RejectEmpty: true,
		Frontends: []intent.Frontend{{
			Addr: netip.AddrFrom4([4]byte{10, 96, 1, byte(i + 1)}), Protocol: intent.TCP, Port: 80, Kind: intent.ClusterAddress,
			Path: "spec.ports[0]", Locality: locality, Backends: intent.NewBackends(pool...),
		}},
	}
}

// contested has two owners that want the same frontends.
func (c *contract) contested(t *testing.T) {
	s := shops(3, 2, intent.Anywhere)
	other := *s
	other.LoadBalancers = []intent.LoadBalancer{shop(0, 1, intent.Anywhere), shop(1, 2, intent.Anywhere)}
	t.Run("one after the other", func(t *testing.T) { c.inTurn(t, s, &other) })
	t.Run("at once", func(t *testing.T) { c.atOnce(t, s, &other) })
}

// inTurn starts the second owner after the first. The owner that has a frontend keeps it; the other waits without
// writing and gets it once the first has left.
func (c *contract) inTurn(t *testing.T, s, other *State) {
	target := c.fresh(t)
	a, b := start(t, target, "a"), start(t, target, "b")
	snapA, snapB := s.Snapshot(), other.Snapshot()
	a.reconcile(t, s, snapA)
	first := target.DumpOwner(t, "a")
	b.reconcile(t, other, snapB)
	require.Equal(t, first, target.DumpOwner(t, "a"), "the second took something from the first")
	settled(t, a, b, snapA, snapB)
	judge(t, target, snapA, nil, Probes(s))
	a.reconcile(t, &State{}, Advance(snapA, &State{}))
	b.reached = 0
	b.reconcile(t, other, snapB)
	require.Empty(t, b.skips)
	judge(t, target, snapB, nil, Probes(other))
	require.Empty(t, opsText(b.planSince(t, snapB, 0)))
}

// atOnce has both owners plan before either writes. The conflict is settled within a few read-backs, and one of them
// serves what both want.
func (c *contract) atOnce(t *testing.T, s, other *State) {
	target := c.fresh(t)
	a, b := start(t, target, "a"), start(t, target, "b")
	target.Prepare(t, s.Endpoints, s.nodes())
	snapA, snapB := s.Snapshot(), other.Snapshot()
	p, q := a.plan(t, snapA), b.plan(t, snapB)
	require.NoError(t, a.backend.Apply(t.Context(), p))
	require.NoError(t, b.backend.Apply(t.Context(), q))
	for range 3 {
		for l, want := range map[*loop]*intent.Snapshot{a: snapA, b: snapB} {
			require.NoError(t, l.backend.Apply(t.Context(), l.planSince(t, want, 0)))
		}
	}
	settled(t, a, b, snapA, snapB)
	require.Empty(t, target.Dangling(t))
	for _, f := range Probes(s) {
		if v := snapA.Evaluate(f); v.Balanced != nil {
			require.NotEmpty(t, target.Verdict(t, f).Backends, FlowText(f))
		}
	}
}

// settled checks that neither owner finds anything to write, no matter how often they plan.
func settled(t *testing.T, a, b *loop, snapA, snapB *intent.Snapshot) {
	t.Helper()
	writes := a.target.Writes(t)
	for range 2 {
		require.Empty(t, opsText(a.planSince(t, snapA, 0)), "the first owner fights")
		require.Empty(t, opsText(b.planSince(t, snapB, 0)), "the second owner fights")
	}
	require.Equal(t, writes, a.target.Writes(t))
}
