package backends

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDrift(t *testing.T) {
	again, reload, update := Op{Verb: Create, Again: true}, Op{Verb: Reload}, Op{Verb: Update}
	for _, tc := range []struct {
		name string
		ops  []Op
		want int
	}{
		{"nothing to do", nil, 0},
		{"what the target refused before is not drift", []Op{again, again, reload}, 0},
		{"any other write is, with all that goes with it", []Op{again, update, reload}, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, (&Plan{Ops: tc.ops}).Drift())
		})
	}
}
