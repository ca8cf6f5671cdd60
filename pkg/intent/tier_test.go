package intent

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// tiered returns a snapshot with one subject and policies of every tier for it.
func tiered(policies ...*Policy) *Snapshot {
	b := NewSnapshot().Next()
	b.CreateSet(&Set{ID: "db", Members: people{someone("db", "10.0.0.1")}})
	b.CreateSet(&Set{ID: "web", Members: people{someone("web", "10.0.0.2")}})
	for _, p := range policies {
		if p.ID == "" {
			p.ID = PolicyID(p.Tier.String() + "/" + p.Origin.Name)
		}
		p.Subject = "db"
		b.PutPolicy(p)
	}
	return b.Commit()
}

func rule(a Action, ports ...uint16) Rule {
	r := Rule{Action: a, Peer: Peer{Kind: PeerSet, Set: "web"}, Ports: Ports{Any: len(ports) == 0}}
	for _, p := range ports {
		r.Ports.Ranges = append(r.Ports.Ranges, PortRange{TCP, p, p})
	}
	return r
}

func TestTiersAreEvaluatedInOrder(t *testing.T) {
	admin := func(name string, priority uint16, rules ...Rule) *Policy {
		return &Policy{Tier: TierAdmin, Priority: priority, Origin: Origin{Name: name}, Rules: rules}
	}
	baseline := func(rules ...Rule) *Policy { return &Policy{Tier: TierBaseline, Rules: rules} }
	np := func(rules ...Rule) *Policy { return &Policy{Isolates: true, Rules: rules} }
	system := func() *Policy { return &Policy{Tier: TierSystem, Rules: []Rule{rule(Allow)}} }
	for _, tc := range []struct {
		name     string
		policies []*Policy
		want     bool
		tier     Tier
		by       int // rules
		passed   int
	}{
		{"nothing decides", nil, true, 0, 0, 0},
		{"an admin policy denies", []*Policy{admin("a", 1, rule(Deny))}, false, TierAdmin, 1, 0},
		{"another port is left undecided", []*Policy{admin("a", 1, rule(Deny, 81))}, true, 0, 0, 0},
		{"an admin policy overrides isolation", []*Policy{admin("a", 1, rule(Allow)), np()}, true, TierAdmin, 1, 0},
		{"an admin policy overrides a NetworkPolicy", []*Policy{admin("a", 1, rule(Deny)), np(rule(Allow))}, false, TierAdmin, 1, 0},
		{"the lower priority comes first", []*Policy{admin("a", 2, rule(Deny)), admin("b", 1, rule(Allow))}, true, TierAdmin, 1, 0},
		{"priorities are numbers", []*Policy{admin("a", 300, rule(Deny)), admin("b", 20, rule(Allow))}, true, TierAdmin, 1, 0},
		{"equal priorities are ordered by name", []*Policy{admin("b", 1, rule(Deny)), admin("a", 1, rule(Allow))}, true, TierAdmin, 1, 0},
		{"the first rule comes first", []*Policy{admin("a", 1, rule(Allow), rule(Deny))}, true, TierAdmin, 1, 0},
		{"passing skips the rest of the tier", []*Policy{admin("a", 1, rule(Pass), rule(Deny)), admin("b", 2, rule(Deny))}, true, 0, 0, 1},
		{"what passed may be denied by isolation", []*Policy{admin("a", 1, rule(Pass), rule(Allow)), np()}, false, TierNetworkPolicy, 1, 1},
		{"isolation keeps the baseline away", []*Policy{baseline(rule(Allow)), np()}, false, TierNetworkPolicy, 1, 0},
		{"a NetworkPolicy overrides the baseline", []*Policy{baseline(rule(Deny)), np(rule(Allow))}, true, TierNetworkPolicy, 1, 0},
		{"the baseline decides the rest", []*Policy{baseline(rule(Deny))}, false, TierBaseline, 1, 0},
		{"passing the baseline allows", []*Policy{baseline(rule(Pass), rule(Deny))}, true, 0, 0, 1},
		{"both tiers may be passed", []*Policy{admin("a", 1, rule(Pass)), baseline(rule(Pass))}, true, 0, 0, 2},
		{"the system comes before all", []*Policy{admin("a", 0, rule(Deny)), np(), system()}, true, TierSystem, 1, 0},
		{"a denial wins within NetworkPolicies", []*Policy{np(rule(Allow), rule(Deny))}, false, TierNetworkPolicy, 1, 0},
		{"passing is denying within NetworkPolicies", []*Policy{np(rule(Allow), rule(Pass))}, false, TierNetworkPolicy, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 {
				got := tiered(tc.policies...).Evaluate(Flow{Src: party("web", "10.0.0.2"), Dst: party("db", "10.0.0.1"), Protocol: TCP, Port: 80})
				require.Equal(t, tc.want, got.Allowed)
				require.Len(t, got.Ingress.By, tc.by)
				require.Len(t, got.Ingress.Passed, tc.passed)
				if tc.by > 0 {
					require.Equal(t, tc.tier, got.Ingress.Tier)
				}
				slices.Reverse(tc.policies)
			}
		})
	}
}

func TestRankedFollowsEdits(t *testing.T) {
	names := func(s *Snapshot) []string {
		var out []string
		for p := range s.Ranked(TierAdmin) {
			out = append(out, p.Origin.Name)
		}
		return out
	}
	put := func(s *Snapshot, name string, tier Tier, priority uint16) *Snapshot {
		b := s.Next()
		b.PutPolicy(&Policy{ID: PolicyID(name), Tier: tier, Priority: priority, Origin: Origin{Name: name}})
		return b.Commit()
	}
	s := put(put(NewSnapshot(), "a", TierAdmin, 500), "b", TierAdmin, 40)
	require.Equal(t, []string{"b", "a"}, names(s))
	require.True(t, s.Tiered())
	require.Equal(t, []string{"a", "b"}, names(put(s, "a", TierAdmin, 3)))
	require.Equal(t, []string{"b"}, names(put(s, "a", TierNetworkPolicy, 3)))
	b := s.Next()
	b.DropPolicy("b")
	b.DropPolicy("a")
	require.False(t, b.Commit().Tiered())
	require.Equal(t, []string{"b", "a"}, names(s), "a snapshot does not change")
}

func TestPoliciesOfOneTierHaveOneOrder(t *testing.T) {
	p := func(priority uint16, name, kind string) *Policy {
		return &Policy{Tier: TierAdmin, Priority: priority, Origin: Origin{Kind: kind, Name: name}, ID: PolicyID(kind + "/" + name)}
	}
	ordered := []*Policy{
		p(0, "z", "A"), p(1, "a", "A"), p(1, "a", "C"), p(1, "a-b", "A"), p(2, "a", "A"), p(256, "a", "A"), p(1000, "a", "A"),
	}
	for i, a := range ordered {
		for j, b := range ordered {
			require.Equal(t, i < j, a.Compare(b) < 0)
			require.Equal(t, i < j, string(a.rank()) < string(b.rank()), "%s %s", a.ID, b.ID)
		}
	}
}

func TestWhatPassesTooMuchDenies(t *testing.T) {
	s := tiered(
		&Policy{Tier: TierAdmin, Origin: Origin{Name: "a"}, Rules: []Rule{{
			Path: "spec.ingress[0]", Action: Pass, Peer: Peer{Kind: PeerSet, Set: "web"}, Ports: Ports{Ranges: []PortRange{{TCP, 80, 80}}},
		}, rule(Deny, 443)}},
		&Policy{Rules: []Rule{rule(Allow, 80), rule(Allow, 80, 81)}},
	)
	flow := func(port uint16) Flow {
		return Flow{Src: party("web", "10.0.0.2"), Dst: party("db", "10.0.0.1"), Protocol: TCP, Port: port}
	}
	for limit, allowed := range map[int]bool{1: false, 2: true} {
		l := NewLowering(limit)
		low := l.Next(s)
		require.Equal(t, allowed, low.Evaluate(flow(80)).Allowed)
		require.True(t, low.Evaluate(flow(81)).Allowed, "only what would pass is denied")
		if allowed {
			require.Empty(t, l.Overflows())
		} else {
			require.Equal(t, []Overflow{{"admin/a", "spec.ingress[0]"}}, l.Overflows())
		}
	}
}
