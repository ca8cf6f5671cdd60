package reconcile_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

// scene is a loop that runs in a bubble of its own time.
type scene struct {
	*source
	target *target
	diary  *diary
	loop   *reconcile.Loop
	stop   func()
}

// play runs a test in a bubble with a loop that has begun.
func play(t *testing.T, opts reconcile.Options, test func(t *testing.T, s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{source: &source{}, target: newTarget(), diary: &diary{}}
		opts.Target, opts.Observer = "fake", reconcile.Observers{s.diary}
		s.loop = reconcile.New(s.target, s.latest, opts)
		s.run(t)
		defer func() { s.stop() }()
		synctest.Wait()
		test(t, s)
	})
}

// run begins the loop, once more after stop.
func (s *scene) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.loop.Run(ctx) }()
	s.stop = func() {
		cancel()
		require.NoError(t, <-done)
		s.stop = func() {}
	}
}

// wake wakes the loop and waits until it has nothing more to do at this moment.
func (s *scene) wake() {
	s.loop.Wake()
	synctest.Wait()
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d) // of the bubble
	synctest.Wait()
}

func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%02d", prefix, i)
	}
	return out
}

// open lets every plan pass the guard.
var open = reconcile.Options{MaxDeleteFraction: 1}

func TestNothingIsPlannedBeforeThereIsASnapshot(t *testing.T) {
	play(t, reconcile.Options{MaxInterval: time.Minute}, func(t *testing.T, s *scene) {
		s.wake()
		pass(time.Hour)
		require.Empty(t, s.target.plans)
		st := s.loop.Status()
		require.False(t, st.Synced())

		s.put("a")
		s.wake()
		require.Equal(t, []string{"a"}, s.target.names())
		st = s.loop.Status()
		require.True(t, st.Synced())
	})
}

func TestPlansAreIncrementalAfterTheFirst(t *testing.T) {
	play(t, open, func(t *testing.T, s *scene) {
		s.put("a")
		s.wake()
		s.put("b")
		s.put("c")
		s.wake()
		s.drop("a")
		s.wake()
		require.Equal(t, []string{"b", "c"}, s.target.names())
		require.Equal(t, []intent.Revision{0, 1, 3}, s.target.sinces())
		st := s.loop.Status()
		require.EqualValues(t, 4, st.Revision)
		require.EqualValues(t, 1, st.FullPlans)
		require.Equal(t, 2, st.Owned)
		require.True(t, st.Converged)
	})
}

func TestAnEmptyPlanIsNotAppliedButCountsAsReached(t *testing.T) {
	play(t, open, func(t *testing.T, s *scene) {
		s.put("a")
		s.wake()
		s.change(func(b *intent.Builder) { b.SetFamilies(intent.IPv4) })
		s.wake()
		require.Equal(t, 1, s.target.applies)
		require.EqualValues(t, 2, s.loop.Status().Revision)
		s.wake()
		require.Equal(t, []intent.Revision{0, 1, 2}, s.target.sinces())
	})
}

func TestEveryErrorIsFollowedByReadBackAfterAPause(t *testing.T) {
	opts := reconcile.Options{MaxDeleteFraction: 1, RetryMin: time.Second, RetryMax: 10 * time.Second}
	play(t, opts, func(t *testing.T, s *scene) {
		s.put("a")
		s.wake()
		s.target.failApply = 1
		s.put("b", "c")
		s.wake()
		st := s.loop.Status()
		require.ErrorIs(t, st.Err, errDown)
		require.ErrorContains(t, st.Err, "apply fake: ")
		require.False(t, st.Converged)
		require.Equal(t, []string{"a", "b"}, s.target.names())
		require.False(t, st.NextRetry.IsZero())

		pass(time.Second)
		require.Equal(t, []string{"a", "b", "c"}, s.target.names())
		require.Equal(t, []intent.Revision{0, 1, 0}, s.target.sinces())
		st = s.loop.Status()
		require.NoError(t, st.Err)
		require.True(t, st.NextRetry.IsZero())
		require.Equal(t, []string{
			"planned", "applied", "converged", "planned", "failed apply", "planned", "applied", "converged",
		}, s.diary.take())
	})
}

func TestErrorsAreRetriedForEverWithGrowingPauses(t *testing.T) {
	opts := reconcile.Options{MaxDeleteFraction: 1, RetryMin: time.Second, RetryMax: 10 * time.Second}
	play(t, opts, func(t *testing.T, s *scene) {
		s.target.failPlan = 50
		s.put("a")
		s.wake()
		for range 3600 { // woken every 100 ms: that must not make it retry faster
			pass(100 * time.Millisecond)
			s.wake()
		}
		gaps := s.target.gaps()
		for i, want := range []time.Duration{1, 2, 4, 8, 10, 10, 10} {
			require.LessOrEqual(t, gaps[i], want*time.Second, "pause %d", i)
			require.GreaterOrEqual(t, gaps[i], want*time.Second*3/4, "pause %d", i)
		}
		pass(10 * time.Minute)
		require.Equal(t, []string{"a"}, s.target.names())
		require.EqualValues(t, 50, s.loop.Status().Failures)
	})
}

func TestABackendThatComesBackCutsThePauseShort(t *testing.T) {
	opts := reconcile.Options{RetryMin: time.Second, RetryMax: time.Hour}
	play(t, opts, func(t *testing.T, s *scene) {
		s.target.failPlan, s.target.fault = 12, fmt.Errorf("dial: %w", backends.ErrUnreachable)
		s.put("a")
		s.wake()
		pass(time.Hour) // 11 failures by now, the next pause is long
		before := len(s.target.gaps())
		s.target.mu.Lock()
		s.target.failPlan = 0
		s.target.mu.Unlock()
		pass(2 * time.Second)
		require.Len(t, s.target.gaps(), before)
		s.target.wakes <- struct{}{}
		synctest.Wait()
		require.Equal(t, []string{"a"}, s.target.names())
	})
}

func TestABackendThatIsThereDoesNotCutThePauseShort(t *testing.T) {
	play(t, open, func(t *testing.T, s *scene) {
		s.target.failPlan = 1 << 30
		s.put("a")
		s.wake()
		for range 600 { // ports come and go all the time
			pass(100 * time.Millisecond)
			s.target.poke()
		}
		require.Less(t, len(s.target.sinces()), 12)
		require.Positive(t, s.loop.Status().Failures)
	})
}

func TestABackendWakesItsLoop(t *testing.T) {
	play(t, open, func(t *testing.T, s *scene) {
		s.put("a")
		s.wake()
		s.target.wakes <- struct{}{}
		synctest.Wait()
		require.Equal(t, []intent.Revision{0, 1}, s.target.sinces())
		close(s.target.wakes) // a closed channel must not make it spin
		synctest.Wait()
		require.Equal(t, []intent.Revision{0, 1, 1}, s.target.sinces())
	})
}

func TestALostTargetIsReadBackAtOnce(t *testing.T) {
	play(t, open, func(t *testing.T, s *scene) {
		s.put("a")
		s.wake()
		s.put("b")
		s.target.resync = 1
		s.wake()
		require.Equal(t, []intent.Revision{0, 1, 0}, s.target.sinces())
		require.Equal(t, []string{"a", "b"}, s.target.names())
	})
}

func TestATargetThatIsLostDuringReadBackIsAnError(t *testing.T) {
	play(t, open, func(t *testing.T, s *scene) {
		s.target.resync = 1
		s.put("a")
		s.wake()
		require.ErrorContains(t, s.loop.Status().Err, "lost track")
		pass(time.Second)
		require.Equal(t, []string{"a"}, s.target.names())
	})
}

func TestWakesWithinTheIntervalAreOneRound(t *testing.T) {
	opts := reconcile.Options{MaxDeleteFraction: 1, MinInterval: time.Second}
	play(t, opts, func(t *testing.T, s *scene) {
		s.put("a")
		s.wake()
		for _, id := range names("b", 10) {
			s.put(id)
			s.wake()
		}
		require.Len(t, s.target.sinces(), 1)
		pass(time.Second)
		require.Equal(t, []intent.Revision{0, 1}, s.target.sinces())
		require.Len(t, s.target.names(), 11)
	})
}

func TestDriftIsFoundAtTheIntervalAndRepaired(t *testing.T) {
	opts := reconcile.Options{MaxDeleteFraction: 1, MaxInterval: time.Minute}
	play(t, opts, func(t *testing.T, s *scene) {
		s.put("a", "b")
		s.wake()
		pass(time.Minute)
		require.NotContains(t, s.diary.take(), "drift")

		s.target.mu.Lock()
		delete(s.target.rows, "a")
		s.target.rows["stray"] = true
		s.target.mu.Unlock()
		s.put("c") // comes with the check: not drift
		pass(time.Minute)
		require.Equal(t, []string{"a", "b", "c"}, s.target.names())
		require.Contains(t, s.diary.take(), "drift")
		require.EqualValues(t, 1, s.loop.Status().Drifts)

		s.put("d")
		pass(time.Minute)
		require.NotContains(t, s.diary.take(), "drift")
	})
}

// TestASlowTargetIsReadBackLessOften has a target whose read-backs take long: nine tenths of the time are for others, and changes do not wait.
func TestASlowTargetIsReadBackLessOften(t *testing.T) {
	opts := reconcile.Options{MaxDeleteFraction: 1, MaxInterval: 5 * time.Second, Spare: 10, RetryMin: time.Second, RetryMax: 5 * time.Second}
	play(t, opts, func(t *testing.T, s *scene) {
		slow := func(d time.Duration) {
			s.target.mu.Lock()
			defer s.target.mu.Unlock()
			s.target.slow = d
		}
		full := func() (n int) {
			for _, since := range s.target.sinces() {
				if since == 0 {
					n++
				}
			}
			return n
		}
		s.put("a")
		s.wake()
		require.Equal(t, 5*time.Second, s.loop.Status().Interval)
		slow(3 * time.Second)
		pass(11 * time.Second) // 5 s, a plan from changes and one from a read-back
		require.Equal(t, 30*time.Second, s.loop.Status().Interval)
		slow(0)
		before := full()
		s.put("b")
		s.wake()
		require.Equal(t, []string{"a", "b"}, s.target.names(), "a change does not wait")
		pass(29 * time.Second)
		require.Equal(t, before, full())
		pass(time.Second)
		require.Equal(t, before+1, full())
		require.Equal(t, 5*time.Second, s.loop.Status().Interval)

		slow(time.Hour)
		pass(3 * time.Hour)
		require.Equal(t, reconcile.LongestInterval, s.loop.Status().Interval)

		slow(8 * time.Second)
		s.target.mu.Lock()
		s.target.failPlan, s.target.plans = 1000, nil
		s.target.mu.Unlock()
		pass(time.Hour)
		s.target.mu.Lock()
		defer s.target.mu.Unlock()
		require.Less(t, len(s.target.plans), 3600/16+2, "half of the time is for others")
		require.Greater(t, len(s.target.plans), 100)
	})
}

func TestRepairAfterAnErrorIsNotDrift(t *testing.T) {
	opts := reconcile.Options{MaxDeleteFraction: 1, MaxInterval: time.Minute}
	play(t, opts, func(t *testing.T, s *scene) {
		s.target.failApply = 1
		s.put("a", "b")
		s.wake()
		pass(time.Second)
		require.Equal(t, []string{"a", "b"}, s.target.names())
		require.Zero(t, s.loop.Status().Drifts)

		s.target.mu.Lock()
		s.target.failPlan = 1
		delete(s.target.rows, "a") // after an error it is unknown which changes were whose
		s.target.mu.Unlock()
		pass(2 * time.Minute)
		require.Equal(t, []string{"a", "b"}, s.target.names())
		require.Zero(t, s.loop.Status().Drifts)
	})
}

func TestASlowTargetDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, slow, quick := &source{}, newTarget(), newTarget()
		slow.slow = time.Hour
		src.put("a")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		loops := []*reconcile.Loop{
			reconcile.New(slow, src.latest, reconcile.Options{Target: "slow"}),
			reconcile.New(quick, src.latest, reconcile.Options{Target: "quick"}),
		}
		for _, l := range loops {
			go func() { done <- l.Run(ctx) }()
		}
		began := time.Now()
		synctest.Wait()
		src.put("b")
		for range 3 { // more wakes than the slow one takes
			for _, l := range loops {
				l.Wake()
			}
		}
		synctest.Wait()
		require.Equal(t, []string{"a", "b"}, quick.names())
		require.Zero(t, time.Since(began))
		require.Empty(t, slow.names())
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, <-done)
	})
}

func TestStoppingInterruptsAWriteAndLeavesTheTarget(t *testing.T) {
	play(t, open, func(t *testing.T, s *scene) {
		s.put("a")
		s.wake()
		s.target.slow = time.Hour
		s.put("b")
		s.wake()
		began := time.Now()
		s.stop()
		require.Zero(t, time.Since(began))
		require.Equal(t, []string{"a"}, s.target.names())
		require.False(t, s.target.closed)
		require.Zero(t, s.loop.Status().Failures)

		s.target.slow = 0
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.loop.Run(ctx) }()
		synctest.Wait()
		require.ErrorIs(t, s.loop.Run(ctx), reconcile.ErrRunning)
		require.Equal(t, []string{"a", "b"}, s.target.names())
		cancel()
		require.NoError(t, <-done)
	})
}
