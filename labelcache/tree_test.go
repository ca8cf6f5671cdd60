package labelcache

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/seeds"
)

func newTreeRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func (s idset) collect() []uint32 {
	var out []uint32
	s.each(func(id uint32) bool { out = append(out, id); return true })
	return out
}

// ranges are how wide ids are spread, to meet every shape of a node; the last needs every level.
func ranges() []uint32 { return []uint32{100, 3000, 70_000, 3_000_000, 1<<32 - 1} }

func TestIDSetMatchesAMapWhileItGrowsAndShrinks(t *testing.T) {
	seeds.Each(t, "labelcache", func(t *testing.T, seed uint64) {
		rnd := newTreeRand(seed)
		for _, width := range ranges() {
			var s idset
			want := map[uint32]bool{}
			epoch := private + 1
			for _, share := range []int{9, 5, 1, 8, 0} { // out of 10 that are added
				old, oldWant := s, maps.Clone(want)
				added := slices.Sorted(maps.Keys(want))
				for range 1500 {
					id := rnd.Uint32N(width)
					if rnd.IntN(10) < share {
						require.Equal(t, !want[id], s.add(id, epoch))
						want[id] = true
						added = append(added, id)
						continue
					}
					if n := len(added); n > 0 && rnd.IntN(4) > 0 {
						id = added[n-1]
						added = added[:n-1]
					}
					require.Equal(t, want[id], s.remove(id, epoch))
					delete(want, id)
				}
				require.Equal(t, slices.Sorted(maps.Keys(want)), s.collect())
				require.Equal(t, len(want), s.len())
				for range 1000 {
					id := rnd.Uint32N(width)
					require.Equal(t, want[id], s.has(id))
				}
				epoch++
				requireDiff(t, old, s, oldWant, want)
				requireDiff(t, s, old, want, oldWant)
				require.Equal(t, slices.Sorted(maps.Keys(oldWant)), old.collect(), "the old version stays")
			}
		}
	})
}

func requireDiff(t *testing.T, a, b idset, inA, inB map[uint32]bool) {
	t.Helper()
	got := map[uint32]bool{}
	diff(a, b, func(id uint32, added bool) {
		require.NotContains(t, got, id)
		got[id] = added
	})
	want := map[uint32]bool{}
	for id := range inA {
		if !inB[id] {
			want[id] = false
		}
	}
	for id := range inB {
		if !inA[id] {
			want[id] = true
		}
	}
	require.Equal(t, want, got)
}

// TestIDSetsMeetInWhatBothHave has sets of every shape, dense and sparse, each with each.
func TestIDSetsMeetInWhatBothHave(t *testing.T) {
	seeds.Each(t, "labelcache", func(t *testing.T, seed uint64) {
		rnd := newTreeRand(seed)
		var sets []idset
		for _, width := range ranges() {
			for _, n := range []int{0, 1, flatMax, 3000} {
				var s idset
				for range n {
					s.add(rnd.Uint32N(width), private)
				}
				sets = append(sets, s)
			}
		}
		for _, a := range sets {
			for _, b := range sets {
				want := slices.DeleteFunc(a.collect(), func(id uint32) bool { return !b.has(id) })
				got := []uint32{}
				meet(a, b, func(id uint32) { got = append(got, id) })
				require.ElementsMatch(t, want, got)
				require.True(t, slices.IsSorted(got))
			}
		}
	})
}

func TestIDSetOldVersionsStayUnderManyEpochs(t *testing.T) {
	seeds.Each(t, "labelcache", func(t *testing.T, seed uint64) {
		rnd := newTreeRand(seed)
		type version struct {
			s    idset
			want []uint32
		}
		for _, width := range ranges() {
			var versions []version
			var s idset
			for epoch := private + 1; epoch < 60; epoch++ {
				for range 40 {
					if id := rnd.Uint32N(width); !s.add(id, epoch) || rnd.IntN(4) == 0 {
						s.remove(id, epoch)
					}
				}
				versions = append(versions, version{s, s.collect()})
			}
			for _, v := range versions {
				require.Equal(t, v.want, v.s.collect())
			}
		}
	})
}

func TestIDSetStopsWhenAskedTo(t *testing.T) {
	for _, n := range []uint32{10, 1000, 100_000} {
		var s idset
		for id := range n {
			s.add(id*3, private)
		}
		seen := 0
		s.each(func(uint32) bool { seen++; return seen < 5 })
		require.Equal(t, 5, seen)
	}
}

func TestHashesFindEveryEntryAlsoWhenHashesCollide(t *testing.T) {
	seeds.Each(t, "labelcache", func(t *testing.T, seed uint64) {
		rnd := newTreeRand(seed)
		for _, width := range []uint32{3, 50, 1 << 31} { // of hashes
			var h hashes
			want := map[uint32]map[uint32]bool{}
			epoch := private + 1
			most := 0
			for i := range 12_000 {
				hash, slot := rnd.Uint32N(width)*2+1, rnd.Uint32N(500)
				if i > 6000 && rnd.IntN(3) > 0 || rnd.IntN(3) == 0 {
					if got := h.find(hash); len(got) > 0 {
						slot = slotOf(got[rnd.IntN(len(got))])
					}
					h.remove(hash, slot, epoch)
					delete(want[hash], slot)
				} else {
					h.add(hash, slot, epoch)
					if want[hash] == nil {
						want[hash] = map[uint32]bool{}
					}
					want[hash][slot] = true
				}
				if i%1000 == 999 {
					epoch++
					most = max(most, requireEntries(t, h, want))
				}
			}
			require.Greater(t, most, 500)
			for hash, slots := range want {
				for slot := range slots {
					h.remove(hash, slot, epoch)
				}
			}
			require.Nil(t, h.root, "nothing is left")
		}
	})
}

// requireEntries compares h with slots by hash, all of which are odd, and counts them.
func requireEntries(t *testing.T, h hashes, want map[uint32]map[uint32]bool) int {
	t.Helper()
	n := 0
	for hash, slots := range want {
		var got []uint32
		for _, e := range h.find(hash) {
			got = append(got, slotOf(e))
		}
		require.Equal(t, slices.Sorted(maps.Keys(slots)), got)
		require.Empty(t, h.find(hash-1))
		n += len(slots)
	}
	return n
}

func TestHashesOldVersionsStay(t *testing.T) {
	var h hashes
	for i := range uint32(3000) {
		h.add(i*2654435761, i, 1)
	}
	old := h
	for i := range uint32(3000) {
		h.remove(i*2654435761, i, 2)
		h.add(i*2654435761+1, i, 2)
	}
	for i := range uint32(3000) {
		require.Len(t, old.find(i*2654435761), 1)
		require.Empty(t, h.find(i*2654435761))
	}
}

func TestTableOldVersionsStay(t *testing.T) {
	seeds.Each(t, "labelcache", func(t *testing.T, seed uint64) {
		rnd := newTreeRand(seed)
		type version struct {
			tab  table[int]
			want map[uint32]int
		}
		for _, width := range ranges() {
			var versions []version
			var tab table[int]
			want := map[uint32]int{}
			for epoch := uint64(1); epoch < 20; epoch++ {
				for range 50 {
					i, v := rnd.Uint32N(width), rnd.Int()
					if rnd.IntN(3) == 0 {
						tab.set(i, nil, epoch)
						delete(want, i)
					} else {
						tab.set(i, &v, epoch)
						want[i] = v
					}
				}
				versions = append(versions, version{tab, maps.Clone(want)})
			}
			for _, v := range versions {
				n := 0
				v.tab.each(func(*int) bool { n++; return true })
				require.Equal(t, len(v.want), n)
				for i, x := range v.want {
					require.Equal(t, x, *v.tab.get(i))
				}
			}
			require.Nil(t, table[int]{}.get(width))
		}
	})
}

func TestSlotsAreGivenOutOnce(t *testing.T) {
	var s slots
	require.Equal(t, []uint32{0, 1, 2}, []uint32{s.take(), s.take(), s.take()})
	s.give(1)
	require.Equal(t, []uint32{1, 3}, []uint32{s.take(), s.take()})
}

// TestCacheForgetsAllThatIsGone looks for leaks: what came and went leaves nothing.
func TestCacheForgetsAllThatIsGone(t *testing.T) {
	c := New()
	c.SetNamespace("", "n", map[string]string{"a": "x"})
	c.Commit()
	c.DeleteNamespace("", "n")
	for i := range 3 {
		k := object.Key{Namespace: "m", Name: string(rune('a' + i))}
		c.SetEndpoint(Endpoint{Key: k, Labels: map[string]string{"a": "x"}, Node: "k", Ports: []NamedPort{{Name: "p"}, {Name: "p"}}})
		if i == 1 {
			c.Commit()
		}
		c.DeleteEndpoint(k)
	}
	for _, s := range []Selection{{Namespace: "q"}, {Node: "k"}, {Port: PortMatch{Name: "p"}}, {Cluster: "west"}} {
		c.AddTerm("s", NewTerm(s))
		c.AddTerm("s", NewTerm(s))
		c.SetEndpoint(Endpoint{Key: object.Key{Namespace: "m", Name: "p"}, Node: "k", Ports: []NamedPort{{Name: "p"}, {Name: "p"}}})
		c.Commit()
		c.RemoveTerm("s", NewTerm(s))
		c.RemoveTerm("s", NewTerm(s))
		c.DeleteEndpoint(object.Key{Namespace: "m", Name: "p"})
	}
	c.Commit()
	require.Len(t, c.facets, 1, "only everything is left")
	require.Empty(t, c.every.filed.under)
	require.Empty(t, c.namespaces)
	require.Empty(t, c.termByID)
	require.Empty(t, c.sets)
	for _, h := range []hashes{c.keys, c.addrs, c.tagIndex, c.setIndex} {
		require.Nil(t, h.root)
	}
	for _, s := range []slots{c.podSlots, c.spaceSlots, c.tagSlots, c.termSlots, c.setSlots} {
		require.Len(t, s.free, int(s.next))
	}
}

// TestUnusedTermsAreNotLookedAt counts what an endpoint is compared with: terms for other namespaces and labels are not
// among it.
func TestUnusedTermsAreNotLookedAt(t *testing.T) {
	sel := func(ns, v string) Selection {
		return Selection{Namespace: ns, Pods: selectorFor("app", v)}
	}
	c := New()
	for i := range 100 {
		c.AddTerm("s", NewTerm(sel(string(rune('a'+i%26)), string(rune('A'+i/26)))))
	}
	c.SetEndpoint(Endpoint{Key: object.Key{Namespace: "a", Name: "p"}, Labels: map[string]string{"app": "A"}})
	f := c.facets[facetKey{kind: podLabel, key: "app", value: "A"}]
	ns := c.namespaces[spaceKey{"", "a"}]
	candidates := 0
	for _, s := range ns.scopes {
		candidates += len(f.filed.under[s])
	}
	require.Equal(t, 1, candidates)
	require.Len(t, c.pods[0].terms, 1)
}
