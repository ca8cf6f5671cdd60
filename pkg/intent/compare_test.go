package intent_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/seeds"
)

// TestChangesFromAForgottenSnapshot compares random snapshots that are far apart, after the newer one has forgotten the older.
func TestChangesFromAForgottenSnapshot(t *testing.T) {
	heavy := make([]intent.Endpoint, 200_000)
	seeds.Each(t, "forgotten", func(t *testing.T, seed uint64) {
		history := []*intent.Snapshot{intent.NewSnapshot()}
		s := history[0]
		for _, state := range backendtest.History(seed, 8) {
			s = backendtest.Advance(s, state)
			history = append(history, s)
		}
		forgetful := forget(s, heavy)
		for _, was := range history {
			if _, remembered := forgetful.Since(was.Revision()); was.Revision() > 0 && was.Revision() < s.Revision() {
				require.False(t, remembered)
			}
			changes := forgetful.ChangesFrom(was)
			requireExplained(t, fmt.Sprintf("seed %d from %d", seed, was.Revision()), was, forgetful, changes)
			require.Len(t, changes, 1)
			requireNet(t, was, forgetful, &changes[0])
		}
	})
}

// forget returns a successor of s with the same content that does not remember what led to s, because of heavy changes.
func forget(s *intent.Snapshot, heavy []intent.Endpoint) *intent.Snapshot {
	for range 2 {
		b := s.Next()
		b.CreateSet(&intent.Set{ID: "heavy", Members: backendtest.NewMembers()})
		b.UpdateMembers(backendtest.NewMembers(), intent.SetDelta{ID: "heavy", Joined: heavy})
		s = b.Commit()
		b = s.Next()
		b.DropSet("heavy")
		s = b.Commit()
	}
	return s
}

// requireNet checks that a change lists nothing that is the same before and after.
func requireNet(t *testing.T, was, is *intent.Snapshot, c *intent.Change) {
	t.Helper()
	require.Equal(t, was.Families() != is.Families(), c.Families)
	for _, id := range c.Sets {
		old, now := was.Set(id), is.Set(id)
		require.True(t, old == nil || now == nil || !slices.Equal(old.Prefixes, now.Prefixes) || !slices.Equal(old.Within, now.Within), id)
	}
	for _, id := range c.Policies {
		require.NotSame(t, was.Policy(id), is.Policy(id), id)
	}
	for _, d := range c.Members {
		old, now := addrsOf(was.Set(d.ID)), addrsOf(is.Set(d.ID))
		for _, a := range d.AddrsAdded {
			require.True(t, now[a] && !old[a], "%s: %s", d.ID, a)
		}
		for _, a := range d.AddrsRemoved {
			require.True(t, old[a] && !now[a], "%s: %s", d.ID, a)
		}
	}
	for lb := range was.LoadBalancers() {
		require.Equal(t, is.LoadBalancer(lb.ID) != lb, slices.Contains(c.LoadBalancers, lb.ID))
	}
}

func addrsOf(s *intent.Set) map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, a := range s.Addrs() {
		out[a] = true
	}
	return out
}

// TestASetThatCameBackIsCompared drops a set and creates it again with other members between two plans.
func TestASetThatCameBackIsCompared(t *testing.T) {
	pod := func(name, addr string) intent.Endpoint {
		return intent.Endpoint{Key: object.Key{Namespace: "shop", Name: name}, Addrs: []netip.Addr{netip.MustParseAddr(addr)}}
	}
	stays, leaves, joins := pod("stays", "10.0.0.1"), pod("leaves", "10.0.0.2"), pod("joins", "10.0.0.3")
	b := intent.NewSnapshot().Next()
	b.CreateSet(&intent.Set{ID: "a", Members: backendtest.NewMembers(stays, leaves)})
	was := b.Commit()
	b = was.Next()
	b.DropSet("a")
	b = b.Commit().Next()
	b.CreateSet(&intent.Set{ID: "a", Members: backendtest.NewMembers(stays, joins)})
	is := b.Commit()

	changes := is.ChangesFrom(was)
	require.Equal(t, []intent.Change{{Members: []intent.SetDelta{{
		ID: "a", Joined: []intent.Endpoint{joins}, Left: []intent.Endpoint{leaves},
		AddrsAdded: joins.Addrs, AddrsRemoved: leaves.Addrs,
	}}}}, changes)

	b = is.Next()
	b.DropSet("a")
	b.CreateSet(&intent.Set{ID: "a", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}})
	require.Equal(t, []intent.SetID{"a"}, b.Commit().ChangesFrom(was)[0].Sets, "its prefixes are others")
	require.Equal(t, []intent.Change{{}}, forget(was, make([]intent.Endpoint, 200_000)).ChangesFrom(was), "there and back is no change")
}
