package growth

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// witness records failures instead of failing.
type witness struct {
	testing.TB
	failed bool
}

func (w *witness) Errorf(string, ...any) { w.failed = true }

func TestOnlyWhatGrowsFasterFails(t *testing.T) {
	var sink uint64
	spin := func(rounds int) func() {
		return func() {
			for i := range rounds {
				sink = sink*6364136223846793005 + uint64(i)
			}
		}
	}
	for _, tc := range []struct {
		name    string
		prepare func(n int) func()
		fails   bool
	}{
		{"linear time", func(n int) func() { return spin(n * 2000) }, false},
		{"quadratic time", func(n int) func() { return spin(n * n) }, true},
		{"linear memory", func(n int) func() { return func() { _ = make([]byte, n*1000) } }, false},
		{"quadratic memory", func(n int) func() { return func() { _ = make([]byte, n*n) } }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &witness{TB: t}
			NearlyLinear(w, 2000, tc.prepare)
			require.Equal(t, tc.fails, w.failed)
		})
	}
}
