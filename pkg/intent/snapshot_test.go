package intent

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

// people is a plain Members.
type people []Endpoint

func (p people) Len() int { return len(p) }

func (p people) All() iter.Seq[Endpoint] { return slices.Values(p) }

func (p people) HasKey(k object.Key) bool {
	return slices.ContainsFunc(p, func(e Endpoint) bool { return e.Key == k })
}

func (p people) HasAddr(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(e Endpoint) bool { return slices.Contains(e.Addrs, a) })
}

func (p people) HasSharedAddr(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(e Endpoint) bool { return slices.Contains(e.Shared, a) })
}

func someone(name string, addrs ...string) Endpoint {
	e := Endpoint{Key: object.Key{Namespace: "shop", Name: name}}
	for _, a := range addrs {
		e.Addrs = append(e.Addrs, netip.MustParseAddr(a))
	}
	return e
}

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func ids[T any](seq iter.Seq[T], id func(T) string) []string {
	var out []string
	for v := range seq {
		out = append(out, id(v))
	}
	return out
}

func setIDs(s *Snapshot) []string {
	return ids(s.Sets(), func(set *Set) string { return string(set.ID) })
}

func policyIDs(s *Snapshot) []string {
	return ids(s.Policies(), func(p *Policy) string { return string(p.ID) })
}

func TestOldSnapshotsStand(t *testing.T) {
	empty := NewSnapshot()
	b := empty.Next()
	b.CreateSet(&Set{ID: "b", Members: people{someone("x", "10.0.0.1")}})
	b.CreateSet(&Set{ID: "a"})
	b.PutPolicy(&Policy{ID: "p"})
	b.SetFamilies(IPv4)
	first := b.Commit()

	b = first.Next()
	b.UpdateMembers(people{}, SetDelta{ID: "b", Left: []Endpoint{someone("x", "10.0.0.1")}})
	b.DropSet("a")
	b.PutPolicy(&Policy{ID: "p", Isolates: true})
	b.PutPolicy(&Policy{ID: "o"})
	b.SetFamilies(0)
	second := b.Commit()

	require.Equal(t, []Revision{0, 1, 2}, []Revision{empty.Revision(), first.Revision(), second.Revision()})
	require.Zero(t, empty.SetCount()+empty.PolicyCount())
	require.Equal(t, []string{"a", "b"}, setIDs(first), "ordered")
	require.Equal(t, []string{"p"}, policyIDs(first))
	require.Equal(t, 1, first.Set("b").Len())
	require.False(t, first.Policy("p").Isolates)
	require.Equal(t, IPv4, first.Families())
	require.Equal(t, []string{"b"}, setIDs(second))
	require.Equal(t, []string{"o", "p"}, policyIDs(second))
	require.Zero(t, second.Set("b").Len())
	require.Nil(t, second.Set("a"))
	require.Zero(t, second.Families())

	changes, known := second.Since(1)
	require.True(t, known)
	require.Equal(t, []Change{{
		Sets: []SetID{"a"}, Policies: []PolicyID{"p", "o"}, Families: true,
		Members: []SetDelta{{ID: "b", Left: []Endpoint{someone("x", "10.0.0.1")}}},
	}}, changes)
}

func TestNothingChangedIsTheSameSnapshot(t *testing.T) {
	b := NewSnapshot().Next()
	b.CreateSet(&Set{ID: "a"})
	s := b.Commit()
	b = s.Next()
	b.DropSet("never was")
	b.DropPolicy("never was")
	b.SetFamilies(IPv6)
	b.SetFamilies(s.Families())
	require.Same(t, s, b.Commit())
	require.Panics(t, func() { s.Next().UpdateMembers(people{}, SetDelta{ID: "never was"}) })
}

// TestSince asks a long history for the changes since every revision.
func TestSince(t *testing.T) {
	s := NewSnapshot()
	_, known := s.Since(0)
	require.False(t, known)
	history := []*Snapshot{s}
	for i := range 3*remembered + 7 {
		b := s.Next()
		b.PutPolicy(&Policy{ID: PolicyID(fmt.Sprint(i + 1))}) // the ID says which revision it came with
		s = b.Commit()
		history = append(history, s)
	}
	last := Revision(len(history) - 1)
	for _, at := range []Revision{1, 2, remembered, 2 * remembered, 2*remembered + 1, 2*remembered + 2, last} {
		s := history[at]
		require.Equal(t, at, s.Revision())
		for r := range last + 3 {
			changes, known := s.Since(r)
			switch {
			case r == 0, r > at:
				require.False(t, known, "%d since %d is no past", at, r)
			case at-r < remembered:
				require.True(t, known, "%d forgot %d", at, r)
			}
			if !known {
				require.Nil(t, changes)
				continue
			}
			require.Len(t, changes, int(at-r))
			if at > r {
				require.Equal(t, []PolicyID{PolicyID(fmt.Sprint(r + 1))}, changes[0].Policies, "oldest first")
				require.Equal(t, []PolicyID{PolicyID(fmt.Sprint(at))}, changes[at-r-1].Policies)
			}
		}
	}
	require.LessOrEqual(t, len(s.log), 2*remembered, "the log does not grow for ever")
}

// TestAVariantLeavesHistoryAlone makes variants of a snapshot before and after its successor: what that one remembers stays.
func TestAVariantLeavesHistoryAlone(t *testing.T) {
	s := NewSnapshot()
	for i := range 5 { // the log has room for more then
		b := s.Next()
		b.PutPolicy(&Policy{ID: PolicyID(fmt.Sprint(i))})
		s = b.Commit()
	}
	variant := func() *Snapshot {
		b := s.Variant()
		b.PutPolicy(&Policy{ID: "variant"})
		b.DropPolicy("0")
		return b.Commit()
	}
	first := variant()
	b := s.Next()
	b.PutPolicy(&Policy{ID: "next"})
	next := b.Commit()
	for _, v := range []*Snapshot{first, variant()} {
		require.NotNil(t, v.Policy("variant"))
		require.Nil(t, v.Policy("0"))
		require.Nil(t, v.Policy("next"))
		_, known := v.Since(s.Revision())
		require.False(t, known, "a variant has no history")
	}
	changes, known := next.Since(s.Revision())
	require.True(t, known)
	require.Equal(t, []PolicyID{"next"}, changes[0].Policies)
	require.NotNil(t, s.Policy("0"))
}

// TestHeavyHistoryIsForgotten checks that fewer changes are remembered when each is of many endpoints.
func TestHeavyHistoryIsForgotten(t *testing.T) {
	b := NewSnapshot().Next()
	b.CreateSet(&Set{ID: "a"})
	s := b.Commit()
	joined := make([]Endpoint, maxWeight/10)
	for range 40 {
		b := s.Next()
		b.UpdateMembers(people{}, SetDelta{ID: "a", Joined: joined})
		s = b.Commit()
		_, known := s.Since(s.Revision() - 1)
		require.True(t, known, "the last change is remembered, however large")
		require.LessOrEqual(t, len(s.log), 11)
	}
	_, known := s.Since(1)
	require.False(t, known)
	b = s.Next()
	b.UpdateMembers(people{}, SetDelta{ID: "a", Joined: make([]Endpoint, 2*maxWeight)})
	s = b.Commit()
	require.Len(t, s.log, 1)
}

func TestSetWithin(t *testing.T) {
	s := &Set{
		Members:  people{someone("a", "10.0.0.1", "fd00::1"), someone("b", "10.0.1.1"), someone("c", "10.0.0.1")},
		Prefixes: prefixes("192.0.2.0/24"),
		Within:   prefixes("10.0.0.0/24"),
	}
	for addr, want := range map[string]bool{
		"10.0.0.1":  true,
		"10.0.0.2":  false, // within, but no member has it
		"10.0.1.1":  false, // a member has it, but it is not within
		"fd00::1":   false,
		"192.0.2.7": true, // prefixes are not narrowed
	} {
		require.Equal(t, want, s.Contains(netip.MustParseAddr(addr)), addr)
	}
	require.Equal(t, []netip.Addr{netip.MustParseAddr("10.0.0.1")}, s.Addrs(), "each once")
	require.Equal(t, 3, s.Len(), "an endpoint without an address that counts is still a member")
	require.True(t, s.HasKey(object.Key{Namespace: "shop", Name: "b"}))

	s.Within = nil
	require.Len(t, s.Addrs(), 3)
	require.True(t, slices.IsSortedFunc(s.Addrs(), netip.Addr.Compare))
	for _, empty := range []*Set{nil, {}} {
		require.Zero(t, empty.Len())
		require.Empty(t, empty.Addrs())
		require.False(t, empty.Contains(netip.MustParseAddr("10.0.0.1")))
		require.False(t, empty.HasKey(object.Key{}))
	}
}
