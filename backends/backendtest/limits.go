package backendtest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/await"
)

// inexpressible uses values that no intent defines today, and a protocol without ports.
func (c *contract) inexpressible(t *testing.T) {
	gre := intent.Protocol(47)
	anyPort := intent.Ports{Any: true}
	rules := map[intent.PolicyID]intent.Rule{
		"odd/action":   {Path: "r", Action: 77, Ports: anyPort, Peer: intent.Peer{Kind: intent.PeerAny}},
		"odd/peer":     {Path: "r", Action: intent.Allow, Ports: anyPort, Peer: intent.Peer{Kind: 77, Set: "all"}},
		"odd/protocol": {Path: "r", Action: intent.Allow, Peer: intent.Peer{Kind: intent.PeerAny}},
	}
	for policy, rule := range rules {
		t.Run(string(policy), func(t *testing.T) {
			if policy == "odd/protocol" {
				rule.Ports.Ranges = []intent.PortRange{{Protocol: gre, Last: 65535}}
			}
			s := manyEndpoints(4)
			s.Policies = append(s.Policies, intent.Policy{
				ID: policy, Origin: intent.Origin{Kind: "Odd", Name: "odd"}, Subject: "all", Isolates: true,
				Rules: []intent.Rule{rule},
			})
			s = c.see(s)
			flows := c.probes(s)
			for _, f := range c.probes(s) {
				if f.Port == 80 && f.Protocol == intent.TCP {
					f.Protocol, f.Port = gre, 0
					flows = append(flows, f)
				}
			}
			target := c.fresh(t)
			l, snap := start(t, target, "a"), s.Snapshot()
			p := l.reconcile(t, s, snap)
			judge(t, target, snap, l.skips, flows)
			if policy != "odd/protocol" {
				require.NotEmpty(t, p.Skips, "nothing was reported")
			}
			for _, skip := range p.Skips {
				require.Equal(t, string(policy), skip.Intent)
			}
		})
	}
}

// cancelled has a context end before it is used. A backend that does not return then fails the test program by its -timeout.
func (c *contract) cancelled(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	s := c.history(1, 3)[2]
	target := c.fresh(t)
	target.Prepare(t, s.Endpoints, s.nodes())
	l, snap := start(t, target, "a"), s.Snapshot()
	_, err := l.backend.Plan(over, snap, 0)
	require.ErrorIs(t, err, context.Canceled)
	p := l.plan(t, snap)
	writes, dump := target.Writes(t), target.Dump(t)
	require.ErrorIs(t, l.backend.Apply(over, p), context.Canceled)
	require.Equal(t, writes, target.Writes(t))
	require.Equal(t, dump, target.Dump(t))
	l.reached = 0
	l.reconcile(t, s, snap)
	require.Equal(t, c.scratch(t, s), target.DumpOwner(t, "a"))
	_, err = l.backend.Plan(over, snap, l.reached)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, opsText(l.planSince(t, snap, 0)))
}

// later creates what endpoints depend on only after the policies for them are in place.
func (c *contract) later(t *testing.T) {
	c.each(t, 4, func(t *testing.T, states []*State) {
		s := states[len(states)-1]
		snap := s.Snapshot()
		target := c.fresh(t)
		l := start(t, target, "a")
		some := *s
		for n := 1; n <= len(s.Endpoints); n++ {
			some.Endpoints = s.Endpoints[:n]
			alone := c.fresh(t)
			start(t, alone, "a").reconcile(t, &some, snap)
			l.planAwake(t, &some, snap, alone.DumpOwner(t, "a"))
			p := l.planSince(t, snap, 0)
			require.Empty(t, opsText(p), "the plan after waking left something")
			judge(t, target, snap, l.skips, c.probes(&some))
		}
	})
}

// planAwake prepares s and plans until the target has what it should: again whenever the backend asks for it, and from
// read-back if it cannot ask.
func (l *loop) planAwake(t *testing.T, s *State, want *intent.Snapshot, dump string) {
	t.Helper()
	w, can := l.backend.(backends.Waker)
	if !can {
		l.reached = 0
		l.reconcile(t, s, want)
		require.Equal(t, dump, l.target.DumpOwner(t, "a"))
		return
	}
	tooLate := await.Context(t).Done()
	for {
		l.reconcile(t, s, want)
		if l.target.DumpOwner(t, "a") == dump {
			return
		}
		select {
		case <-w.Wake():
		case <-tooLate:
			require.Equal(t, dump, l.target.DumpOwner(t, "a"), "the backend did not wake up")
			return
		}
	}
}
