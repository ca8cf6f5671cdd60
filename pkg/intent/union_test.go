package intent

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

// together is a snapshot with two sets, a third that is of both, and an isolating policy that allows ingress from that one, in two parts.
// A cluster-wide policy passes everything on, and then denies it.
func together() *Snapshot {
	b := NewSnapshot().Next()
	b.CreateSet(&Set{ID: "web", Members: people{someone("web", "10.0.0.1"), someone("both", "10.0.0.3")}})
	b.CreateSet(&Set{ID: "api", Members: people{someone("api", "10.0.0.2"), someone("both", "10.0.0.3")}})
	b.CreateSet(&Set{ID: "block", Prefixes: prefixes("192.0.2.0/24")})
	b.CreateSet(&Set{ID: "all", UnionOf: []SetID{"web", "api", "block"}, Prefixes: prefixes("192.0.2.0/24"), Title: "all of them"})
	b.CreateSet(&Set{ID: "db", Members: people{someone("db", "10.0.0.9")}})
	b.CreateSet(&Set{ID: IsolatedIngress, Members: people{someone("db", "10.0.0.9")}})
	set := func(id SetID) Peer { return Peer{Kind: PeerSet, Set: id} }
	b.PutPolicy(&Policy{
		ID: "p", Subject: "db", Isolates: true, Rules: []Rule{{
			Action: Allow, Peer: set("all"), Ports: Ports{Any: true}, Parts: []Part{{Peer: set("web")}, {Peer: set("api")}, {Peer: set("block")}},
		}},
	})
	b.PutPolicy(&Policy{ID: "q", Subject: "db", Tier: TierAdmin, Rules: []Rule{
		{Action: Pass, Peer: Peer{Kind: PeerAny}, Ports: Ports{Any: true}}, {Action: Deny, Peer: Peer{Kind: PeerAny}, Ports: Ports{Any: true}},
	}})
	return b.Commit()
}

func TestASetOfOthersHasTheirMembers(t *testing.T) {
	s := together()
	set := s.Set("all")
	require.Equal(t, 3, set.Len())
	require.Equal(t, []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")}, set.Addrs())
	for name, has := range map[string]bool{"web": true, "api": true, "both": true, "db": false} {
		require.Equal(t, has, set.HasKey(object.Key{Namespace: "shop", Name: name}), name)
	}
	for addr, has := range map[string]bool{"10.0.0.1": true, "10.0.0.2": true, "10.0.0.9": false, "192.0.2.7": true} {
		a := netip.MustParseAddr(addr)
		require.Equal(t, has, set.Contains(a), addr)
		v := s.Evaluate(Flow{Src: Party{Addr: a}, Dst: Party{Key: object.Key{Namespace: "shop", Name: "db"}, Addr: netip.MustParseAddr("10.0.0.9")}})
		require.Equal(t, has || addr == "10.0.0.9", v.Allowed, addr) // which reaches itself
	}
	require.Equal(t, []SetID{"web", "api", "block"}, s.Sources("all"))
	require.Equal(t, []SetID{"web"}, s.Sources("web"))
	for each := range s.Sets() {
		require.Equal(t, each.ID == "block", each.Members == nil, each.ID)
	}
}

func TestChangesListWhatASetIsOf(t *testing.T) {
	was := together()
	b := was.Next()
	b.UpdateMembers(people{someone("both", "10.0.0.3")}, SetDelta{ID: "web", Left: []Endpoint{someone("web", "10.0.0.1")}})
	left := b.Commit()
	require.Equal(t, 2, left.Set("all").Len())
	require.Equal(t, 3, was.Set("all").Len(), "the old snapshot stands")
	require.Len(t, left.ChangesFrom(was)[0].Members, 1)

	b = left.Next()
	b.CreateSet(&Set{ID: "all", UnionOf: []SetID{"api", "block"}, Prefixes: prefixes("192.0.2.0/24")})
	other := b.Commit()
	for name, changes := range map[string][]Change{"remembered": other.ChangesFrom(left), "compared": {other.compare(left)}} {
		require.Len(t, changes, 1, name)
		require.Equal(t, []SetID{"all"}, changes[0].Sets, name)
		require.Empty(t, changes[0].Members, name)
	}
}

// TestLoweringGivesASetOfOthersMembers lowers a rule that passes everything: the one in its place names the whole list, and has no parts.
func TestLoweringGivesASetOfOthersMembers(t *testing.T) {
	l := NewLowering(MaxRaised)
	s := together()
	was := l.Next(s)
	i := slices.IndexFunc(was.Policy("q").Rules, func(r Rule) bool { return r.Peer.Set == "all" })
	require.GreaterOrEqual(t, i, 0)
	require.Nil(t, was.Policy("q").Rules[i].Parts)
	require.Nil(t, was.Set("all").UnionOf)
	require.Equal(t, 3, was.Set("all").Len())

	b := s.Next()
	gone := someone("web", "10.0.0.1")
	b.UpdateMembers(people{someone("both", "10.0.0.3")}, SetDelta{ID: "web", Left: []Endpoint{gone}, AddrsRemoved: gone.Addrs})
	s = b.Commit()
	now := l.Next(s)
	changes := now.ChangesFrom(was)
	require.Len(t, changes, 1)
	require.Contains(t, changes[0].Members, SetDelta{ID: "all", Left: []Endpoint{gone}, AddrsRemoved: gone.Addrs})

	b = s.Next()
	b.PutPolicy(&Policy{ID: "p", Subject: "db", Isolates: true})
	none := l.Next(b.Commit()).Set("all")
	require.NotNil(t, none, "no rule names it any more")
	require.Equal(t, []SetID{"web", "api", "block"}, none.UnionOf)
}
