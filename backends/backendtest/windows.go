package backendtest

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// windows checks the target after every group of every plan, over single steps, leaps and restarts.
func (c *contract) windows(t *testing.T) {
	for _, leap := range []struct {
		name   string
		length int
		full   bool
	}{
		{name: "single steps", length: 1},
		{name: "leaps", length: 4},
		{name: "restarts", length: 2, full: true},
	} {
		t.Run(leap.name, func(t *testing.T) {
			c.each(t, 9, func(t *testing.T, states []*State) {
				target := c.fresh(t)
				l, snap := start(t, target, "a"), intent.NewSnapshot()
				before := c.see(&State{})
				for i := 0; i < len(states); i += leap.length {
					after := states[i]
					if leap.full {
						l.reached = 0
					}
					snap = c.cross(t, l, snap, before, after)
					before = after
				}
			})
		})
	}
}

// cross applies a plan group by group and probes after each.
func (c *contract) cross(t *testing.T, l *loop, was *intent.Snapshot, before, after *State) *intent.Snapshot {
	t.Helper()
	l.target.Prepare(t, after.Endpoints, after.nodes())
	will := Advance(was, after)
	p := l.plan(t, will)
	flows := c.probes(before, after)
	if c.stepwise {
		flows = slices.DeleteFunc(flows, func(f intent.Flow) bool { return before.moved(f) || after.moved(f) })
	}
	mayDrop, transition := l.mayDrop(p), newTransition(was, will)
	for i, part := range Groups(p) {
		require.NoError(t, l.backend.Apply(t.Context(), part))
		require.Empty(t, l.target.Dangling(t), "after group %d", i)
		between(t, l.target, transition, l.skips, c.some(flows, i), mayDrop)
	}
	judge(t, l.target, will, l.skips, c.probes(after))
	l.reached = 0 // to a backend, part of a plan may look like a plan that failed
	return will
}

// churn flips one endpoint of many from one set to another.
func (c *contract) churn(t *testing.T) {
	s := c.see(manyEndpoints(200))
	target := c.fresh(t)
	l, snap := start(t, target, "a"), s.Snapshot()
	l.reconcile(t, s, snap)
	for i := range 4 {
		s = flip(s, i)
		snap = Advance(snap, s)
		changes, known := snap.Since(l.reached)
		require.True(t, known)
		require.Len(t, changes, 1)
		budget, values := 0, 0
		for _, d := range changes[0].Members {
			for _, e := range append(d.Joined, d.Left...) {
				budget += 2 * (1 + len(e.Addrs)) // as a member and by its addresses, in two places at most
			}
		}
		writes := target.Writes(t)
		p := l.reconcile(t, s, snap)
		require.NotEmpty(t, p.Ops)
		if c.cnf != nil {
			require.Less(t, len(p.Ops), p.Owned/8, "an event costs what is owned")
			require.Equal(t, c.scratch(t, s), target.DumpOwner(t, "a"))
			continue
		}
		if c.stepwise {
			stepwiseChurn(t, p, budget)
			require.Equal(t, c.scratch(t, s), target.DumpOwner(t, "a"))
			continue
		}
		require.Equal(t, writes+1, target.Writes(t), "one event, one transaction")
		require.LessOrEqual(t, len(p.Ops), 4*len(changes[0].Members))
		for j := range p.Ops {
			op := &p.Ops[j]
			require.Equal(t, backends.Mutate, op.Verb, "%s %q", op.Kind, op.Name)
			for _, fields := range []backends.Fields{op.Before, op.After} {
				for name, v := range fields {
					list, ok := v.([]string)
					require.True(t, ok, "%s of %q is mutated and is no list", name, op.Name)
					values += len(list)
				}
			}
		}
		require.LessOrEqual(t, values, budget, "more is written than what joined and left")
		require.Equal(t, c.scratch(t, s), target.DumpOwner(t, "a"))
	}
}

// manyEndpoints returns n endpoints, most of them in the set "web", which the set "db" admits.
func manyEndpoints(n int) *State {
	s := &State{Sets: []SetSpec{{ID: "all"}, {ID: "db"}, {ID: "web"}}}
	for i := range n {
		e := intent.Endpoint{
			Key:  object.Key{Namespace: "shop", Name: fmt.Sprintf("p-%03d", i)},
			Node: "n1",
			Addrs: []netip.Addr{
				netip.AddrFrom4([4]byte{10, 244, 7, byte(i)}),
				netip.MustParseAddr(fmt.Sprintf("fd00::%x", i+1)),
			},
		}
		s.Endpoints = append(s.Endpoints, e)
		s.Sets[0].Keys = append(s.Sets[0].Keys, e.Key)
		role := 1
		if i%4 > 0 {
			role = 2
		}
		s.Sets[role].Keys = append(s.Sets[role].Keys, e.Key)
	}
	tcp := intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.TCP, First: 5432, Last: 5432}}}
	for _, d := range intent.Directions() {
		peer, subject := intent.SetID("web"), intent.SetID("db")
		if d == intent.Egress {
			peer, subject = subject, peer
		}
		o := intent.Origin{Kind: "NetworkPolicy", Namespace: "shop", Name: "db"}
		s.Policies = append(s.Policies, intent.Policy{
			ID: intent.NewPolicyID(o, d), Origin: o, Direction: d, Subject: subject, Isolates: true,
			Rules: []intent.Rule{{
				Path: "rules[0]", Action: intent.Allow, Ports: tcp, Peer: intent.Peer{Kind: intent.PeerSet, Set: peer},
			}},
		})
	}
	return s
}

// flip moves the i-th endpoint between the sets "db" and "web".
func flip(s *State, i int) *State {
	next := *s
	next.Sets = []SetSpec{s.Sets[0], {ID: "db"}, {ID: "web"}}
	k := s.Endpoints[i].Key
	for role := 1; role <= 2; role++ {
		for _, member := range s.Sets[role].Keys {
			to := role
			if member == k {
				to = 3 - role
			}
			next.Sets[to].Keys = append(next.Sets[to].Keys, member)
		}
	}
	return &next
}
