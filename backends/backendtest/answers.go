package backendtest

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// names returns the DNS names that peers choose from.
func names() []string { return []string{"a.example.org", "b.example.org"} }

// answer gives a name other addresses: some outside, those of a pod, or none.
func (w *World) answer(name string) {
	var addrs []netip.Addr
	for _, a := range outside() {
		if w.dns.IntN(3) == 0 {
			addrs = append(addrs, a)
		}
	}
	if w.dns.IntN(3) == 0 && len(w.pods) > 0 {
		addrs = append(addrs, pick(w.dns, w.pods).Addrs...)
	}
	w.answers[name] = nil
	for _, a := range addrs {
		w.answers[name] = append(w.answers[name], netip.PrefixFrom(a, a.BitLen()))
	}
}

// named sometimes adds a name to a list.
func (w *World) named(l peerList) peerList {
	if len(l.within) == 0 && w.dns.IntN(4) == 0 {
		l.hosts = []string{pick(w.dns, names())}
	}
	return l
}

// answers changes what DNS answers for the names of a set, from nothing to nothing.
func (c *contract) answers(t *testing.T) {
	s := c.see(namedPeers())
	target := c.fresh(t)
	l, snap := start(t, target, "a"), s.Snapshot()
	l.reconcile(t, s, snap)
	for i, answer := range [][]string{
		{"203.0.113.9/32"},
		{"203.0.113.9/32", "2001:db8::7/128"},
		{"198.51.100.7/32", "2001:db8::7/128"},
		{"10.244.7.1/32"}, // of a member
		{"203.0.113.8/31", "203.0.113.10/32"},
		{"203.0.113.10/32"},
		{},
	} {
		what := fmt.Sprintf("answer %d", i)
		next := *s
		next.Sets = append([]SetSpec(nil), s.Sets...)
		for j := range next.Sets {
			if len(next.Sets[j].Hosts) > 0 {
				next.Sets[j].Prefixes = prefixes(answer...)
			}
		}
		s, snap = &next, Advance(snap, &next)
		writes := target.Writes(t)
		p := l.reconcile(t, s, snap)
		require.False(t, p.Full, what)
		require.Equal(t, c.scratch(t, s), target.DumpOwner(t, "a"), what)
		judge(t, target, snap, l.skips, c.probes(s))
		switch {
		case c.cnf != nil:
			require.Less(t, len(p.Ops), p.Owned, what)
		case c.stepwise:
			require.NotEmpty(t, p.Ops, what)
			for j := range p.Ops {
				require.Equal(t, backends.Update, p.Ops[j].Verb, "%s: %s %q", what, p.Ops[j].Kind, p.Ops[j].Name)
			}
			require.LessOrEqual(t, len(p.Ops), 2*2, "%s: two groups that grow and shrink", what)
		default:
			require.Equal(t, writes+1, target.Writes(t), "%s: one transaction", what)
			for j := range p.Ops {
				require.Equal(t, backends.Mutate, p.Ops[j].Verb, "%s: %s %q", what, p.Ops[j].Kind, p.Ops[j].Name)
			}
		}
	}
}

// namedPeers returns a few endpoints that may reach a name and some of their own.
func namedPeers() *State {
	s := manyEndpoints(12)
	s.Sets = append(s.Sets,
		SetSpec{ID: "named", Hosts: names()[:1], Bare: true}, SetSpec{ID: "named or pods", Hosts: names()[:1], Keys: s.Sets[1].Keys[:2]})
	for i := range s.Policies {
		for port, set := range []intent.SetID{"named", "named or pods"} {
			number := uint16(90 + port) // 90 or 91, which probes test
			s.Policies[i].Rules = append(s.Policies[i].Rules, intent.Rule{
				Path: fmt.Sprintf("rules[%d]", 1+port), Action: intent.Allow, Peer: intent.Peer{Kind: intent.PeerSet, Set: set},
				Ports: intent.Ports{Ranges: []intent.PortRange{{Protocol: intent.TCP, First: number, Last: number}}},
			})
		}
	}
	return s
}
