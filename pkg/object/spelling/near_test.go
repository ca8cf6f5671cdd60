package spelling_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object/spelling"
	"github.com/netloom/netloom/test/growth"
)

// TestNear compares it with Distance, for words of few letters, of which many are near.
func TestNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		out := make([]byte, rng.IntN(8))
		for i := range out {
			out[i] = "abc"[rng.IntN(3)]
		}
		return string(out)
	}
	for range 300 {
		var words []string
		for range rng.IntN(40) {
			words = append(words, word())
		}
		slices.Sort(words)
		asked, limit := word(), rng.IntN(3)
		var want, got []string
		for _, w := range words {
			if d := spelling.Distance(w, asked, limit); d >= 0 {
				want = append(want, fmt.Sprint(w, " ", d))
			}
		}
		spelling.Near(words, asked, limit, func(w string, d int) { got = append(got, fmt.Sprint(w, " ", d)) })
		require.Equal(t, want, got, "%q in %q within %d", asked, words, limit)
	}
}

// searches is how many words a list is searched for.
const searches = 500

// TestNearInALongList searches a longer list for as many words, all of which begin alike.
func TestNearInALongList(t *testing.T) {
	growth.NearlyLinear(t, 2000, func(n int) func() {
		var words []string
		for i := range n {
			words = append(words, fmt.Sprintf("service-%08x", i*2654435761%(1<<32)))
		}
		slices.Sort(words)
		return func() {
			for _, w := range words[:searches] {
				spelling.Near(words, "x"+w, 2, func(string, int) {})
			}
		}
	})
}
