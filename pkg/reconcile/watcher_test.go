package reconcile_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/reconcile"
)

func TestChangesByOthersAreRepairedAtOnceAndCounted(t *testing.T) {
	opts := reconcile.Options{MaxDeleteFraction: 1, MaxInterval: time.Hour, MinInterval: time.Minute}
	play(t, opts, func(t *testing.T, s *scene) {
		s.put("a", "b")
		s.wake()
		s.diary.take()
		for i := range 3 {
			began := time.Now()
			s.target.tamper("a")
			pass(0)
			require.Equal(t, []string{"a", "b"}, s.target.names(), "no time has passed")
			require.Equal(t, began, time.Now())
			require.Equal(t, []string{"disturbed", "drift", "applied", "planned", "calm", "converged"}, s.diary.take())
			status := s.loop.Status()
			require.EqualValues(t, i+1, status.Drifts)
			require.True(t, status.Converged)
			require.NoError(t, status.Err)
			require.Nil(t, status.Disturbed)
			pass(time.Second)
		}
		require.EqualValues(t, 1, s.loop.Status().FullPlans, "only the rows are repaired")
	})
}

// TestAWriterThatFightsIsUndoneEachTime deletes a row every 300 ms.
func TestAWriterThatFightsIsUndoneEachTime(t *testing.T) {
	play(t, reconcile.Options{MaxDeleteFraction: 1}, func(t *testing.T, s *scene) {
		s.put("a", "b")
		s.wake()
		s.target.slow = 5 * time.Millisecond
		open, polls := 0, 0
		for range 200 {
			s.target.tamper("a")
			for range 300 {
				if len(s.target.names()) < 2 {
					open++
				}
				polls++
				pass(time.Millisecond)
			}
		}
		require.Less(t, float64(open)/float64(polls), 0.1)
		require.NotContains(t, s.diary.take(), "contested")
		require.EqualValues(t, 1, s.loop.Status().FullPlans)
	})
}

// TestATargetIsContested deletes a row every 30 ms, and stops.
func TestATargetIsContested(t *testing.T) {
	play(t, reconcile.Options{MaxDeleteFraction: 1}, func(t *testing.T, s *scene) {
		s.put("a", "b")
		s.wake()
		s.target.slow = 5 * time.Millisecond
		began := time.Now()
		for s.loop.Status().Disturbed == nil || !s.loop.Status().Disturbed.Contested {
			require.Less(t, time.Since(began), time.Second, "it is told within a second")
			s.target.tamper("a")
			pass(30 * time.Millisecond)
		}
		for range 1000 {
			s.target.tamper("a")
			pass(30 * time.Millisecond)
			status := s.loop.Status()
			require.False(t, status.Converged)
			require.True(t, status.Disturbed.Contested)
			require.EqualError(t, status.Err, "fake is contested: someone else changes row a faster than it is repaired; "+
				"connected: ptcp:6641 (2 clients)")
			require.Equal(t, status.Disturbed.Since, s.loop.Status().Disturbed.Since)
		}
		require.InDelta(t, 300, s.target.repairs, 30, "of 1000 changes: ten a second are repaired")
		s.put("c")
		s.wake()
		pass(20 * time.Millisecond)
		require.Contains(t, s.target.names(), "c", "changes of the snapshot are written meanwhile")

		quiet := time.Now()
		pass(time.Second)
		require.Equal(t, []string{"a", "b", "c"}, s.target.names(), "the last change is repaired")
		require.True(t, s.loop.Status().Disturbed.Contested, "for a while")
		s.diary.take()
		for s.loop.Status().Disturbed != nil {
			pass(100 * time.Millisecond)
		}
		require.InDelta(t, 10, time.Since(quiet).Seconds(), 1)
		require.True(t, s.loop.Status().Converged)
		require.Equal(t, []string{"calm", "planned", "converged"}, s.diary.take())
		require.EqualValues(t, 1, s.loop.Status().FullPlans)
	})
}

// TestASlowTargetIsContested has each repair take as long as the next change.
func TestASlowTargetIsContested(t *testing.T) {
	play(t, reconcile.Options{MaxDeleteFraction: 1}, func(t *testing.T, s *scene) {
		s.put("a", "b")
		s.wake()
		s.target.slow = 200 * time.Millisecond
		for range 20 {
			s.target.tamper("a")
			pass(100 * time.Millisecond)
		}
		require.True(t, s.loop.Status().Disturbed.Contested)
	})
}

// TestChangesThatTakeReadBacksAreFew deletes rows ten times a second that the target cannot name, while the snapshot changes too.
func TestChangesThatTakeReadBacksAreFew(t *testing.T) {
	opts := reconcile.Options{MaxDeleteFraction: 1}
	play(t, opts, func(t *testing.T, s *scene) {
		s.put("a", "b")
		s.wake()
		s.target.blind = true
		for i := range 6000 {
			s.target.tamper("a")
			pass(100 * time.Millisecond)
			if i > 10 {
				require.True(t, s.loop.Status().Disturbed.Contested)
			}
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

// TestATargetThatIsNotSeenIsOutOfSync ends the view of a target that nothing has to be written to, and begins it again. Changes are written
// meanwhile.
func TestATargetThatIsNotSeenIsOutOfSync(t *testing.T) {
	play(t, reconcile.Options{MaxDeleteFraction: 1, MaxInterval: time.Hour}, func(t *testing.T, s *scene) {
		s.put("a")
		s.wake()
		require.True(t, s.loop.Status().Converged)
		s.diary.take()
		s.target.hide(errors.New("the stream ended"))
		pass(0)
		require.Equal(t, []string{"planned", "blind", "converged"}, s.diary.take())
		status := s.loop.Status()
		require.False(t, status.Converged)
		require.EqualError(t, status.Err, "changes of fake by others cannot be seen: the stream ended")
		s.put("b")
		s.wake()
		require.Equal(t, []string{"a", "b"}, s.target.names(), "changes are written all the same")
		require.False(t, s.loop.Status().Converged)
		s.diary.take()
		s.target.hide(nil)
		pass(0)
		require.Equal(t, []string{"planned", "sees", "converged"}, s.diary.take())
		require.True(t, s.loop.Status().Converged)
		require.NoError(t, s.loop.Status().Err)
	})
}
