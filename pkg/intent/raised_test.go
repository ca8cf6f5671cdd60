package intent_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/test/seeds"
)

// tiered is a policy that applies to the pods of some namespaces, all for nil.
func tiered(tier intent.Tier, name string, priority uint16, namespaces []string, actions ...intent.Action) *intent.Policy {
	p := &intent.Policy{
		Origin: intent.Origin{Kind: "Policy", Name: name}, Tier: tier, Priority: priority, Subject: "pods", Namespaces: namespaces,
	}
	if len(namespaces) > 0 {
		p.Subject = intent.SetID("of " + namespaces[0])
	}
	p.ID = intent.NewPolicyID(p.Origin, p.Direction)
	for i, a := range actions {
		p.Rules = append(p.Rules, intent.Rule{
			Path: fmt.Sprint("rules", i), Action: a, Peer: intent.Peer{Kind: intent.PeerSet, Set: intent.SetID(fmt.Sprint("peer", i))},
			Ports: intent.Ports{Any: true},
		})
	}
	return p
}

// TestLoweringFollowsPolicies lets policies of several namespaces and tiers come, change and go, with a limit that some of the snapshots exceed. The form
// that follows the changes equals one made from scratch.
func TestLoweringFollowsPolicies(t *testing.T) {
	const limit = 14
	exceeded, within := 0, 0
	seeds.Each(t, "raised", func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		b := intent.NewSnapshot().Next()
		for _, id := range []intent.SetID{"pods", "of a", "of b", "of c", "peer0", "peer1", intent.IsolatedIngress} {
			b.CreateSet(&intent.Set{ID: id})
		}
		s, l := b.Commit(), intent.NewLowering(limit)
		before := l.Next(s)
		for step := range 300 {
			b := s.Next()
			for range 1 + random.IntN(2) {
				changeOne(random, b, s)
			}
			s = b.Commit()
			low, fresh := l.Next(s), intent.NewLowering(limit)
			require.Equal(t, dump(fresh.Next(s)), dump(low), "step %d", step)
			require.Equal(t, fresh.Overflows(), l.Overflows(), "step %d", step)
			requireExplained(t, fmt.Sprint("step ", step), before, low, low.ChangesFrom(before))
			if len(l.Overflows()) > 0 {
				exceeded++
			} else if low != s {
				within++
			}
			before = low
		}
	})
	if seeds.All() {
		require.Greater(t, exceeded, 100)
		require.Greater(t, within, 100)
	}
}

// changeOne changes a policy or a set.
func changeOne(random *rand.Rand, b *intent.Builder, s *intent.Snapshot) {
	pick := func(of ...intent.Action) []intent.Action {
		var out []intent.Action
		for range 1 + random.IntN(2) {
			out = append(out, of[random.IntN(len(of))])
		}
		return out
	}
	namespaces := [][]string{nil, {"a"}, {"b"}, {"c"}, {"a", "b"}, {}}[random.IntN(6)]
	var p *intent.Policy
	switch n := random.IntN(10); {
	case n < 4:
		p = tiered(intent.TierAdmin, fmt.Sprint("admin", random.IntN(4)), uint16(random.IntN(4)), namespaces, pick(intent.Pass, intent.Pass, intent.Allow, intent.Deny)...)
	case n < 7:
		p = tiered(intent.TierNetworkPolicy, fmt.Sprint("np", random.IntN(5)), 0, []string{string("abc"[random.IntN(3)])}, pick(intent.Allow)...)
	case n < 9:
		p = tiered(intent.TierBaseline, fmt.Sprint("base", random.IntN(2)), uint16(random.IntN(2)), namespaces, pick(intent.Allow, intent.Deny, intent.Pass)...)
	default:
		if s.Set(intent.IsolatedIngress) == nil {
			b.CreateSet(&intent.Set{ID: intent.IsolatedIngress})
		} else {
			b.DropSet(intent.IsolatedIngress)
		}
		return
	}
	if random.IntN(3) == 0 {
		b.DropPolicy(p.ID)
	} else {
		b.PutPolicy(p)
	}
}

// TestLoweringCostsWhatChanged changes a policy of one namespace while ever more others have some of their own, with rules that pass.
func TestLoweringCostsWhatChanged(t *testing.T) {
	growth.Constant(t, 500, func(n int) func() {
		b := intent.NewSnapshot().Next()
		for i := range n {
			ns := []string{fmt.Sprint("ns", i)}
			b.CreateSet(&intent.Set{ID: intent.SetID("of " + ns[0])})
			b.PutPolicy(tiered(intent.TierAdmin, fmt.Sprintf("admin%06d", i), uint16(i%1000), ns, intent.Pass, intent.Deny))
			b.PutPolicy(tiered(intent.TierNetworkPolicy, fmt.Sprint("np", i), 0, ns, intent.Allow))
		}
		s, l := b.Commit(), intent.NewLowering(intent.MaxRaised)
		l.Next(s)
		i := 0
		return func() {
			i++
			b := s.Next()
			b.PutPolicy(tiered(intent.TierNetworkPolicy, "np7", 0, []string{"ns7"}, []intent.Action{intent.Allow, intent.Allow}[:1+i%2]...))
			s = b.Commit()
			l.Next(s)
		}
	})
}

// BenchmarkLowering changes a policy of one of many namespaces, each of which has a rule that passes.
func BenchmarkLowering(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			next := intent.NewSnapshot().Next()
			for i := range n {
				ns := []string{fmt.Sprint("ns", i)}
				next.CreateSet(&intent.Set{ID: intent.SetID("of " + ns[0])})
				next.PutPolicy(tiered(intent.TierAdmin, fmt.Sprintf("admin%06d", i), uint16(i), ns, intent.Pass, intent.Deny))
				for j := range 10 {
					next.PutPolicy(tiered(intent.TierNetworkPolicy, fmt.Sprint("np", i, "-", j), 0, ns, intent.Allow))
				}
			}
			s, l := next.Commit(), intent.NewLowering(intent.MaxRaised)
			l.Next(s)
			for i := 0; b.Loop(); i++ {
				next := s.Next()
				next.PutPolicy(tiered(intent.TierNetworkPolicy, "np7-0", 0, []string{"ns7"}, []intent.Action{intent.Allow, intent.Allow}[:1+i%2]...))
				s = next.Commit()
				l.Next(s)
			}
		})
	}
}
