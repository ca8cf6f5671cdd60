package reconcile_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/reconcile"
)

func TestChangesByOthersAreRepairedAtOnceAndCounted(t *testing.T) {
	opts := reconcile.Options{MaxDeleteFraction: 1, MaxInterval: time.Hour}
	play(t, opts, func(t *testing.T, s *scene) {
		s.put("a", "b")
		s.wake()
		for i := range 3 {
			began := time.Now()
			s.target.tamper("a")
			pass(0)
			require.Equal(t, []string{"a", "b"}, s.target.names(), "no time has passed")
			require.Equal(t, began, time.Now())
			require.Contains(t, s.diary.take(), "drift")
			require.EqualValues(t, i+1, s.loop.Status().Drifts)
			pass(2 * reconcile.DefaultRetryMax)
		}
		require.EqualValues(t, 4, s.loop.Status().FullPlans)
	})
}

// TestConstantForeignChangesCauseFewReadBacks deletes rows ten times a second, while the snapshot changes too.
func TestConstantForeignChangesCauseFewReadBacks(t *testing.T) {
	opts := reconcile.Options{MaxDeleteFraction: 1}
	play(t, opts, func(t *testing.T, s *scene) {
		s.put("a", "b")
		s.wake()
		for range 6000 {
			s.target.tamper("a")
			pass(100 * time.Millisecond)
		}
		full := s.loop.Status().FullPlans
		require.Less(t, full, uint64(40), "read-backs in ten minutes")
		require.Greater(t, full, uint64(20))
		s.put("c")
		s.wake()
		require.Contains(t, s.target.names(), "c", "a change of the snapshot does not wait")
		pass(reconcile.DefaultRetryMax)
		require.Equal(t, []string{"a", "b", "c"}, s.target.names(), "the last change is repaired as well")

		pass(2 * reconcile.DefaultRetryMax)
		s.target.tamper("a")
		pass(0)
		require.Equal(t, []string{"a", "b", "c"}, s.target.names(), "at once again after a quiet time")
		pass(time.Second)
		s.target.tamper("a")
		pass(0)
		require.Equal(t, []string{"a", "b", "c"}, s.target.names(), "and the backoff starts again")
	})
}
