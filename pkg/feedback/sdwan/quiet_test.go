package sdwan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
)

// TestASlowStreamOfChanges has changes come one after the other: the first is written at once, and the others are gathered.
func TestASlowStreamOfChanges(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		r.After(time.Minute)
		d.Reset()
		for i := range 20 {
			r.Apply(sdwantest.Rule(fmt.Sprintf("r-%d", i), fmt.Sprintf("10.%d.0.0/16", i)))
			r.After(300 * time.Millisecond)
			if i == 1 {
				require.Equal(t, 1, sdwantest.RulesTo(d, "10.0.0.0/16"), "a single change does not wait")
			}
		}
		r.After(2 * time.Second)
		for i := range 20 {
			require.Equal(t, 1, sdwantest.RulesTo(d, fmt.Sprintf("10.%d.0.0/16", i)))
		}
		require.LessOrEqual(t, len(d.Actions()), 3)
	})
}

// TestChangesThatNeverEnd are written all the same, at the limit.
func TestChangesThatNeverEnd(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		for i := range 60 {
			r.Apply(sdwantest.Rule("r", fmt.Sprintf("10.%d.0.0/16", i)))
			r.After(300 * time.Millisecond)
		}
		require.InDelta(t, 5, len(d.Actions()), 2, "one every five seconds")
	})
}
