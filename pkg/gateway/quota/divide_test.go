package quota_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway/quota"
	"github.com/netloom/netloom/test/seeds"
)

func TestDivide(t *testing.T) {
	for _, tc := range []struct {
		name        string
		limit, most float64
		whole       bool
		demands     []float64
		want        []float64
	}{
		{"one alone", 100, 50, false, []float64{20}, []float64{50}},
		{"no demand", 90, 90, false, []float64{0, 0, 0}, []float64{30, 30, 30}},
		{"equal demands", 90, 90, false, []float64{200, 200, 200}, []float64{30, 30, 30}},
		{"one has all the demand", 90, 90, false, []float64{200, 0, 0}, []float64{87, 1.5, 1.5}},
		{"one has all the demand, and its own limit", 90, 40, false, []float64{200, 0, 0}, []float64{40, 25, 25}},
		{"a small demand is met in full", 90, 90, false, []float64{200, 200, 9}, []float64{39.75, 39.75, 10.5}},
		{"more than is wanted", 90, 90, false, []float64{30, 6, 0}, []float64{48, 24, 18}},
		{"whole numbers", 10, 10, true, []float64{5, 5, 5}, []float64{4, 3, 3}},
		{"whole numbers and one demand", 30, 30, true, []float64{90, 0, 0}, []float64{28, 1, 1}},
		{"fewer than instances", 2, 2, true, []float64{5, 5, 5}, []float64{1, 1, 1}},
		{"fewer together than the limit", 30, 5, true, []float64{9, 9, 9}, []float64{5, 5, 5}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.InDeltaSlice(t, tc.want, quota.Divide(tc.limit, tc.most, tc.whole, tc.demands), 1e-6)
		})
	}
}

// TestSharesAreTheLimit divides random limits by random demands.
func TestSharesAreTheLimit(t *testing.T) {
	seeds.Each(t, "quota", func(t *testing.T, seed uint64) { randomShares(t, rand.New(rand.NewPCG(seed, 0))) })
}

func randomShares(t *testing.T, r *rand.Rand) {
	t.Helper()
	for range 5000 {
		n, whole := 1+r.IntN(12), r.IntN(2) == 0
		most := float64(1 + r.IntN(200))
		limit := most + float64(r.IntN(1000))
		demands := make([]float64, n)
		for i := range demands {
			if r.IntN(3) > 0 {
				demands[i] = r.Float64() * 500
			}
		}
		shares := quota.Divide(limit, most, whole, demands)
		sum, least := 0.0, limit/float64(n)
		for i, s := range shares {
			sum += s
			require.LessOrEqual(t, s, most+1e-6)
			if whole {
				require.GreaterOrEqual(t, s, 1.0)
				require.InDelta(t, s, float64(int(s+0.5)), 1e-9)
			} else {
				require.GreaterOrEqual(t, s, min(most, least*0.05)-1e-6, "something is left for clients that come suddenly")
			}
			for j := range shares {
				if demands[i] > demands[j] {
					require.GreaterOrEqual(t, s, shares[j]-1-1e-6, "more demand, less of the limit: %v of %v by %v", shares, limit, demands)
				}
			}
		}
		want := min(limit, most*float64(n))
		if whole {
			want = max(want, float64(n))
		}
		require.InDelta(t, want, sum, 1e-6, "%v of %v by %v", shares, limit, demands)
	}
}
