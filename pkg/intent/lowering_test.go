package intent_test

import (
	"flag"
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
)

var loweringSeed = flag.Uint64("intent.seed", 1, "seed of the random policies that are lowered")

// TestLoweringKeepsVerdicts compares random snapshots with their lowered form while they change: the verdicts are equal, nothing
// passes, changes explain every difference, and a form that follows changes equals one made from scratch.
func TestLoweringKeepsVerdicts(t *testing.T) {
	t.Logf("repeat with -intent.seed=%d", *loweringSeed)
	raised := 0
	for i := range uint64(100) {
		l := intent.NewLowering(intent.MaxRaised)
		s := intent.NewSnapshot()
		before := l.Next(s)
		for step, state := range backendtest.History(*loweringSeed+i, 10) {
			s = backendtest.Advance(s, state)
			when := fmt.Sprintf("seed %d step %d", *loweringSeed+i, step)
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
	}
	require.Greater(t, raised, 100, "too few of the snapshots pass anything")
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
	for set := range before.Sets() {
		keys[set.ID], addrs[set.ID] = keysOf(set), map[netip.Addr]bool{}
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
		}
	}
	for set := range after.Sets() {
		if whole[set.ID] {
			continue
		}
		require.NotNil(t, keys[set.ID], "%s: %s appeared", when, set.ID)
		require.ElementsMatch(t, set.Addrs(), slices.Collect(maps.Keys(addrs[set.ID])), "%s: %s", when, set.ID)
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
		out = append(out, fmt.Sprint(set.ID, set.Prefixes, set.Within, set.Addrs(), len(keysOf(set))))
	}
	for p := range s.Policies() {
		out = append(out, fmt.Sprintf("%+v", *p))
	}
	return out
}
