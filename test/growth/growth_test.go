package growth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/growth/ops"
)

// small keeps an object from the stack.
var small []*int

// witness records failures instead of failing.
type witness struct {
	testing.TB
	failed bool
}

func (w *witness) Errorf(string, ...any) { w.failed = true }

func TestOnlyWhatGrowsFasterFails(t *testing.T) {
	counters := make([]uint32, 2)
	ops.Count(counters, []uint16{1, 3})
	run := func(statements int) func() { return func() { counters[1] += uint32(statements / 3) } }
	for _, tc := range []struct {
		name    string
		prepare func(n int) func()
		fails   bool
	}{
		{"linear work", func(n int) func() { return run(n * 100) }, false},
		{"quadratic work", func(n int) func() { return run(n * n) }, true},
		{"linear memory", func(n int) func() { return func() { _ = make([]byte, n*1000) } }, false},
		{"quadratic memory", func(n int) func() { return func() { _ = make([]byte, n*n) } }, true},
		{"many small objects", func(n int) func() {
			return func() {
				for range n * n / 1000 {
					small = append(small[:0], new(int))
				}
			}
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &witness{TB: t}
			NearlyLinear(w, 2000, tc.prepare)
			require.Equal(t, tc.fails, w.failed)
		})
	}
}

func TestOnlyWhatGrowsIsNotConstant(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(n int) func()
		fails   bool
	}{
		{"the same for every size", func(int) func() { return func() { _ = make([]byte, 1<<20) } }, false},
		{"linear memory", func(n int) func() { return func() { _ = make([]byte, n*1000) } }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &witness{TB: t}
			Constant(w, 2000, tc.prepare)
			require.Equal(t, tc.fails, w.failed)
		})
	}
}
