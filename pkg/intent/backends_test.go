package intent

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/seeds"
)

// TestBackendsFollowAList changes backends at random beside a plain list: they have the same content in the same order, are equal to backends
// that are made from the list, and earlier ones stay as they were.
func TestBackendsFollowAList(t *testing.T) {
	seeds.Each(t, "backends", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var now, before Backends
		var list, earlier []Backend
		for range 400 {
			b := Backend{Addr: randomAddr(rng), Port: uint16(80 + rng.IntN(2)), Draining: rng.IntN(4) == 0, Node: fmt.Sprint(rng.IntN(2))}
			if rng.IntN(3) == 0 {
				b.ForNodes, b.ForZones = []string{"n"}, [][]string{nil, {"z"}}[rng.IntN(2)]
			}
			at, had := slices.BinarySearchFunc(list, b, func(a, b Backend) int { return a.Compare(&b) })
			switch {
			case rng.IntN(3) == 0:
				now = now.Without(b.AddrPort())
				if had {
					list = slices.Delete(slices.Clone(list), at, at+1)
				}
			case had:
				now, list = now.With(&b), slices.Clone(list)
				list[at] = b
			default:
				now, list = now.With(&b), slices.Insert(slices.Clone(list), at, b)
			}
			requireBackends(t, list, now)
			if rng.IntN(20) == 0 {
				requireBackends(t, earlier, before)
				before, earlier = now, list
			}
		}
	})
}

// randomAddr is one of few, of both families, some of which differ in few bits and some in the first one.
func randomAddr(rng *rand.Rand) netip.Addr {
	x := byte(rng.IntN(16)) * 17
	if rng.IntN(3) > 0 {
		return netip.AddrFrom4([4]byte{x, 0, 0, byte(rng.IntN(3))})
	}
	return netip.AddrFrom16([16]byte{x & 0x80, 15: x})
}

func requireBackends(t *testing.T, want []Backend, got Backends) {
	t.Helper()
	var list []Backend
	for b := range got.All() {
		list = append(list, *b)
	}
	require.Equal(t, want, list[:len(list):len(list)])
	require.Equal(t, len(want), got.Len())
	fresh := NewBackends(want...)
	require.Equal(t, fresh, got, "what they were made from does not show")
	require.True(t, fresh.Equal(got))
	for i := range want {
		require.Equal(t, want[i], *got.Get(want[i].AddrPort()))
		other := want[i]
		other.Node += "x"
		require.False(t, got.With(&other).Equal(got))
	}
	for _, n := range []int{0, 1, 3, len(want), len(want) + 1} {
		some := slices.Clone(want)
		slices.SortFunc(some, func(a, b Backend) int { return cmp.Or(cmp.Compare(rankOf(&a), rankOf(&b)), a.Compare(&b)) })
		some = some[:min(n, len(some))]
		slices.SortFunc(some, func(a, b Backend) int { return a.Compare(&b) })
		chosen := got.Some(n)
		require.Len(t, chosen, len(some))
		for i := range some {
			require.Equal(t, some[i], *chosen[i])
		}
	}
}

// TestBackendsStop ends a loop over backends before its end.
func TestBackendsStop(t *testing.T) {
	all := behind("1; 2 draining; 3; 4 draining")
	for n := range 4 {
		var seen []string
		for b := range all.All() {
			if seen = append(seen, b.Node); len(seen) == n+1 {
				break
			}
		}
		require.Len(t, seen, n+1)
	}
}

// TestFirstOfEqualBackendsCounts has one address and port twice.
func TestFirstOfEqualBackendsCounts(t *testing.T) {
	one, two := Backend{Addr: netip.MustParseAddr("10.0.0.1"), Port: 1, Node: "a"}, Backend{Addr: netip.MustParseAddr("10.0.0.1"), Port: 1, Node: "b"}
	require.Equal(t, "a", NewBackends(one, two).Get(one.AddrPort()).Node)
	require.Equal(t, 1, NewBackends(one, two).Len())
}
