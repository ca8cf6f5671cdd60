package labelcache_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/test/seeds"
)

// TestRandomUnions has pods change, and compares a set of two terms with the union of one set for each, each as it was when it last changed.
func TestRandomUnions(t *testing.T) {
	seeds.Each(t, "labelcache", func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 7))
		c := labelcache.New()
		web, ops := podTerm(t, "app=web"), podTerm(t, "tier=ops")
		c.AddTerm("web", web)
		c.AddTerm("ops", ops)
		c.AddTerm("both", web)
		c.AddTerm("both", ops)
		held := map[labelcache.SetID]labelcache.Members{}
		labels := []string{"", "app=web", "tier=ops", "app=web,tier=ops", "app=db"}
		for step := range 300 {
			for range 1 + rng.IntN(4) {
				name := fmt.Sprint("pod-", rng.IntN(40))
				if rng.IntN(5) == 0 {
					c.DeleteEndpoint(podKey(name))
					continue
				}
				c.SetEndpoint(pod(t, name, labels[rng.IntN(len(labels))], fmt.Sprintf("10.0.0.%d", 1+rng.IntN(60))))
			}
			v, changes := c.Commit()
			for _, ch := range changes {
				if m, ok := v.Set(ch.ID); ok {
					held[ch.ID] = m
				}
			}
			want, _ := v.Set("both")
			got := labelcache.Union([]labelcache.Members{held["web"], held["ops"], {}})
			require.Equal(t, want.Len(), got.Len(), "step %d", step)
			require.Equal(t, described(want), described(got), "step %d", step)
			for i := range 60 {
				a := netip.AddrFrom4([4]byte{10, 0, 0, byte(1 + i)})
				require.Equal(t, want.HasAddr(a), got.HasAddr(a), "step %d: %s", step, a)
			}
		}
		require.Zero(t, labelcache.Union(nil).Len())
	})
}

// described lists members with their addresses.
func described(m labelcache.Members) []string {
	var out []string
	for e := range m.All() {
		out = append(out, fmt.Sprint(e.Key, e.Addrs))
	}
	slices.Sort(out)
	return out
}
