package spelling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object/spelling"
)

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b  string
		limit int
		want  int
	}{
		{"web", "web", 0, 0},
		{"wbe", "web", 1, 1},
		{"web", "wweb", 1, 1},
		{"db", "", 2, 2},
		{"frontend", "frnotned", 2, 2},
		{"frontend", "backend", 2, -1},
		{"", "", 2, 0},
	} {
		require.Equal(t, tc.want, spelling.Distance(tc.a, tc.b, tc.limit), "%s %s", tc.a, tc.b)
	}
}

// slow is Distance without a limit, by the whole table.
func slow(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j-1], d[i-1][j], d[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

func FuzzDistance(f *testing.F) {
	for _, s := range [][2]string{{"web", "wbe"}, {"frontend", "frnotned"}, {"aaaa", "abab"}, {"a", "ba"}} {
		f.Add(s[0], s[1], uint8(2))
	}
	f.Fuzz(func(t *testing.T, a, b string, limit uint8) {
		if len(a) > 100 || len(b) > 100 {
			return
		}
		n := int(limit % 4)
		want := slow(a, b)
		if want > n {
			want = -1
		}
		if got := spelling.Distance(a, b, n); got != want {
			t.Errorf("Distance(%q, %q, %d) = %d, want %d", a, b, n, got, want)
		}
	})
}
