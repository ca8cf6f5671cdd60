package ovn

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/seeds"
)

// addresses is a set of n strings.
func addresses(n int) datum {
	var d datum
	for i := range n {
		d.keys = append(d.keys, fmt.Sprintf("10.%03d.%03d.%03d", i>>16, i>>8&255, i&255))
	}
	return d
}

// TestDifference applies what is reported of a change to the old value, as a client does: in both directions.
func TestDifference(t *testing.T) {
	seeds.Each(t, "datum", func(t *testing.T, seed uint64) {
		chance := rand.New(rand.NewPCG(seed, 2))
		for range 200 {
			old, now := datum{}, datum{}
			isMap := chance.IntN(2) == 0
			for i := range 20 {
				for _, d := range []*datum{&old, &now} {
					if chance.IntN(3) == 0 {
						continue
					}
					d.keys = append(d.keys, fmt.Sprintf("k%02d", i))
					if isMap {
						d.vals = append(d.vals, fmt.Sprint(chance.IntN(2)))
					}
				}
			}
			value := func(d datum, i int) any {
				if isMap {
					return d.vals[i]
				}
				return nil
			}
			applied := map[any]any{}
			for i, k := range old.keys {
				applied[k] = value(old, i)
			}
			reported := old.difference(now)
			require.True(t, slices.IsSortedFunc(reported.keys, compareAtoms))
			for i, k := range reported.keys {
				if was, ok := applied[k]; ok && was == value(reported, i) {
					delete(applied, k)
					continue
				}
				applied[k] = value(reported, i)
			}
			want := map[any]any{}
			for i, k := range now.keys {
				want[k] = value(now, i)
			}
			require.Equal(t, want, applied, "from %v to %v", old, now)
		}
	})
}

// BenchmarkDifference is a change of one element of a large set.
func BenchmarkDifference(b *testing.B) {
	old := addresses(10000)
	now := old.filter(func(i int) bool { return i != 17 })
	for b.Loop() {
		if got := old.difference(now); len(got.keys) != 1 {
			b.Fatal(got)
		}
	}
}
