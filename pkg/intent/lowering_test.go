package intent_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/seeds"
)

// TestLoweringKeepsVerdicts compares random snapshots with their lowered form while they change: the verdicts are equal, nothing
// passes, changes explain every difference, and a form that follows changes equals one made from scratch.
func TestLoweringKeepsVerdicts(t *testing.T) {
	raised := 0
	seeds.Each(t, "lowering", func(t *testing.T, seed uint64) {
		l := intent.NewLowering(intent.MaxRaised)
		s := intent.NewSnapshot()
		before := l.Next(s)
		for step, state := range backendtest.History(seed, 10) {
			s = backendtest.Advance(s, state)
			when := fmt.Sprintf("seed %d step %d", seed, step)
			low := l.Next(s)
			require.Equal(t, s.Revision(), low.Revision())
			require.Empty(t, l.Overflows())
			requireNoPass(t, low)
			if low != s {
				raised++
				require.Equal(t, dump(intent.Lower(s, intent.MaxRaised)), dump(low), "%s: history shows", when)
			}
			for n, f := range backendtest.Probes(state) {
				if n%11 != step%11 {
					continue
				}
				want, got := s.Evaluate(f), low.Evaluate(f)
				require.Equal(t, want.Allowed, got.Allowed, "%s: %+v\n%+v\n%+v", when, f, want, got)
			}
			requireExplained(t, when, before, low, low.ChangesFrom(before))
			before = low
		}
	})
	if seeds.All() {
		require.Greater(t, raised, 100, "too few of the snapshots pass anything")
	}
}

// TestLoweringFollowsNames lowers a rule that passes what pods have, or an address block, to one for a DNS name, whose answer then
// changes: intersections change their addresses and prefixes, and no policy does.
func TestLoweringFollowsNames(t *testing.T) {
	state := &backendtest.State{}
	keys := []object.Key{{Namespace: "shop", Name: "a"}, {Namespace: "shop", Name: "b"}}
	for i, k := range keys {
		state.Endpoints = append(state.Endpoints, intent.Endpoint{Key: k, Addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(1 + i)})}})
	}
	state.Sets = []backendtest.SetSpec{
		{ID: "pods", Keys: keys},
		{ID: "block", Prefixes: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}},
		{ID: "named", Hosts: []string{"a.example.org"}, Bare: true},
	}
	rule := func(action intent.Action, peer intent.SetID) intent.Rule {
		return intent.Rule{Path: string(peer), Action: action, Peer: intent.Peer{Kind: intent.PeerSet, Set: peer}, Ports: intent.Ports{Any: true}}
	}
	all := intent.Rule{Path: "rest", Peer: intent.Peer{Kind: intent.PeerAny}, Ports: intent.Ports{Any: true}}
	for name, p := range map[string]intent.Policy{
		"admin": {Tier: intent.TierAdmin, Rules: []intent.Rule{rule(intent.Pass, "pods"), rule(intent.Pass, "block"), all}},
		"base":  {Tier: intent.TierBaseline, Rules: []intent.Rule{rule(intent.Allow, "named")}},
	} {
		p.Origin, p.Direction, p.Subject = intent.Origin{Kind: "ClusterNetworkPolicy", Name: name}, intent.Egress, "pods"
		p.ID = intent.NewPolicyID(p.Origin, p.Direction)
		state.Policies = append(state.Policies, p)
	}
	slices.SortFunc(state.Policies, func(a, b intent.Policy) int { return strings.Compare(string(a.ID), string(b.ID)) })
	l := intent.NewLowering(intent.MaxRaised)
	s := backendtest.Advance(intent.NewSnapshot(), state)
	before := l.Next(s)
	requireNoPass(t, before)
	require.Greater(t, before.SetCount(), len(state.Sets), "there are intersections")
	for _, answer := range []string{"192.0.2.7/32", "10.0.0.2/32 192.0.2.7/32", "10.0.0.1/32", "192.0.2.8/31", "198.51.100.1/32", ""} {
		next := *state
		next.Sets = slices.Clone(state.Sets)
		next.Sets[2].Prefixes = nil
		for _, p := range strings.Fields(answer) {
			next.Sets[2].Prefixes = append(next.Sets[2].Prefixes, netip.MustParsePrefix(p))
		}
		s = backendtest.Advance(s, &next)
		low := l.Next(s)
		require.Equal(t, dump(intent.Lower(s, intent.MaxRaised)), dump(low), answer)
		changes := low.ChangesFrom(before)
		requireExplained(t, answer, before, low, changes)
		for _, c := range changes {
			require.Empty(t, c.Policies, answer)
			require.Empty(t, c.Sets, answer)
		}
		for _, f := range backendtest.Probes(&next) {
			require.Equal(t, s.Evaluate(f).Allowed, low.Evaluate(f).Allowed, "%s: %+v", answer, f)
		}
		before = low
	}
}

func requireNoPass(t *testing.T, s *intent.Snapshot) {
	t.Helper()
	for p := range s.Ranked(intent.TierAdmin) {
		for _, r := range p.Rules {
			require.NotEqual(t, intent.Pass, r.Action)
		}
	}
}

// requireExplained compares what changes report with the differences between two snapshots.
func requireExplained(t *testing.T, when string, before, after *intent.Snapshot, changes []intent.Change) {
	t.Helper()
	whole, policies := map[intent.SetID]bool{}, map[intent.PolicyID]bool{}
	keys, addrs := map[intent.SetID]map[object.Key]bool{}, map[intent.SetID]map[netip.Addr]bool{}
	prefixes := map[intent.SetID]map[netip.Prefix]bool{}
	for set := range before.Sets() {
		keys[set.ID], addrs[set.ID], prefixes[set.ID] = keysOf(set), map[netip.Addr]bool{}, map[netip.Prefix]bool{}
		for _, p := range set.Prefixes {
			prefixes[set.ID][p] = true
		}
		for _, a := range set.Addrs() {
			addrs[set.ID][a] = true
		}
	}
	for _, c := range changes {
		for _, id := range c.Policies {
			policies[id] = true
		}
		for _, id := range c.Sets {
			whole[id] = true
		}
		for _, d := range c.Members {
			if keys[d.ID] == nil {
				continue
			}
			for _, e := range d.Left {
				delete(keys[d.ID], e.Key)
			}
			for _, e := range d.Joined {
				keys[d.ID][e.Key] = true
			}
			for _, a := range d.AddrsRemoved {
				delete(addrs[d.ID], a)
			}
			for _, a := range d.AddrsAdded {
				addrs[d.ID][a] = true
			}
			for _, p := range d.PrefixesRemoved {
				delete(prefixes[d.ID], p)
			}
			for _, p := range d.PrefixesAdded {
				prefixes[d.ID][p] = true
			}
		}
	}
	for set := range after.Sets() {
		if whole[set.ID] {
			continue
		}
		require.NotNil(t, keys[set.ID], "%s: %s appeared", when, set.ID)
		require.ElementsMatch(t, set.Addrs(), slices.Collect(maps.Keys(addrs[set.ID])), "%s: %s", when, set.ID)
		require.ElementsMatch(t, set.Prefixes, slices.Collect(maps.Keys(prefixes[set.ID])), "%s: %s", when, set.ID)
		if !strings.HasPrefix(string(set.ID), "meet/peer/") { // whose members are addresses
			require.Equal(t, keysOf(set), keys[set.ID], "%s: %s", when, set.ID)
		}
	}
	for set := range before.Sets() {
		require.True(t, whole[set.ID] || after.Set(set.ID) != nil, "%s: %s disappeared", when, set.ID)
	}
	for p := range after.Policies() {
		if !policies[p.ID] {
			require.Equal(t, before.Policy(p.ID), p, when)
		}
	}
}

func keysOf(set *intent.Set) map[object.Key]bool {
	keys := map[object.Key]bool{}
	if set.Members != nil {
		for e := range set.Members.All() {
			keys[e.Key] = true
		}
	}
	return keys
}

// dump lists the sets and policies of a snapshot.
func dump(s *intent.Snapshot) []string {
	var out []string
	for set := range s.Sets() {
		out = append(out, fmt.Sprint(set.ID, set.Prefixes, set.Hosts, set.Within, set.Addrs(), len(keysOf(set))))
	}
	for p := range s.Policies() {
		out = append(out, fmt.Sprintf("%+v", *p))
	}
	return out
}
