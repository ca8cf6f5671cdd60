package reconcile_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/reconcile"
)

func guarded() reconcile.Options {
	return reconcile.Options{MaxDeleteFraction: 0.5, MaxInterval: time.Hour, RetryMin: time.Second}
}

func TestAPlanThatDeletesTooMuchWaitsUntilItIsForced(t *testing.T) {
	play(t, guarded(), func(t *testing.T, s *scene) {
		rows := names("r", 30)
		s.put(rows...)
		s.wake()
		s.drop(rows[:20]...)
		s.wake()
		require.Len(t, s.target.names(), 30)
		st := s.loop.Status()
		require.True(t, st.Refused)
		require.False(t, st.Converged)
		require.True(t, reconcile.IsRefused(st.Err))
		require.ErrorContains(t, st.Err, "refused to delete 20 of 30 owned rows of fake")
		require.Equal(t, []string{"planned", "applied", "converged", "planned", "refused"}, s.diary.take())

		before := len(s.target.sinces())
		pass(10 * time.Hour) // it looks again at the drift interval, not in a hurry
		require.Len(t, s.target.sinces(), before+10)
		for range 100 {
			s.wake()
		}
		pass(100 * time.Millisecond)
		require.Len(t, s.target.sinces(), before+10)
		pass(time.Second)
		require.Len(t, s.target.sinces(), before+11)
		require.Len(t, s.target.names(), 30)

		s.loop.Force()
		pass(time.Second)
		require.Len(t, s.target.names(), 10)
		st = s.loop.Status()
		require.False(t, st.Refused)
		require.True(t, st.Converged)
		require.Equal(t, 10, st.Owned)

		s.put(rows[:20]...) // the force is spent
		s.wake()
		s.drop(rows...)
		s.wake()
		require.Len(t, s.target.names(), 30)
		require.True(t, s.loop.Status().Refused)
	})
}

func TestARefusedTargetRecoversWithItsSources(t *testing.T) {
	play(t, guarded(), func(t *testing.T, s *scene) {
		rows := names("r", 30)
		s.put(rows...)
		s.wake()
		s.drop(rows...)
		s.wake()
		require.True(t, s.loop.Status().Refused)
		s.put(rows...)
		s.put("new")
		s.wake()
		pass(time.Second)
		require.Len(t, s.target.names(), 31)
		require.True(t, s.loop.Status().Converged)
	})
}

func TestTheGuardHoldsAtTheStartToo(t *testing.T) {
	play(t, guarded(), func(t *testing.T, s *scene) {
		for _, n := range names("old", 25) {
			s.target.rows[n] = true
		}
		s.put("new")
		s.wake()
		require.Len(t, s.target.names(), 25)
		require.True(t, s.loop.Status().Refused)
	})
}

func TestAForceLastsUntilTheTargetConverged(t *testing.T) {
	play(t, guarded(), func(t *testing.T, s *scene) {
		for _, n := range names("old", 25) {
			s.target.rows[n] = true
		}
		s.target.failApply = 1 // the forced plan is written in part, the rest is still a large share
		s.loop.Force()
		s.put("new")
		s.wake()
		pass(time.Minute)
		require.Equal(t, []string{"new"}, s.target.names())
	})
}

func TestGuardBounds(t *testing.T) {
	for _, tc := range []struct {
		name              string
		fraction          float64
		least, have, drop int
		wantRefused       bool
	}{
		{"exactly the share passes", 0.5, 0, 40, 20, false},
		{"one more than the share is refused", 0.5, 0, 40, 21, true},
		{"few rows are not guarded", 0.5, 0, 19, 19, false},
		{"the least number of rows is guarded", 0.5, 0, 20, 20, true},
		{"the least number can be lowered", 0.5, 4, 4, 4, true},
		{"zero refuses every delete", 0, 0, 40, 1, true},
		{"one refuses none", 1, 0, 40, 40, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opts := reconcile.Options{MaxDeleteFraction: tc.fraction, MinDeleteGuard: tc.least}
			play(t, opts, func(t *testing.T, s *scene) {
				rows := names("r", tc.have)
				s.put(rows...)
				s.wake()
				s.drop(rows[:tc.drop]...)
				s.wake()
				require.Equal(t, tc.wantRefused, s.loop.Status().Refused)
			})
		})
	}
}

func TestSkipsFollowTheIntentsThatCauseThem(t *testing.T) {
	play(t, open, func(t *testing.T, s *scene) {
		s.put("a", "odd")
		s.wake()
		require.Len(t, s.loop.Status().Skips, 1)
		s.put("b")
		s.wake()
		require.Len(t, s.loop.Status().Skips, 1)
		s.drop("odd")
		s.wake()
		require.Empty(t, s.loop.Status().Skips)
	})
}

func TestARefusedReadBackIsNotForgotten(t *testing.T) {
	opts := guarded()
	opts.MinDeleteGuard, opts.MaxInterval = 1, time.Minute
	play(t, opts, func(t *testing.T, s *scene) {
		rows, strays := names("r", 5), names("stray", 10)
		s.put(rows...)
		s.wake()
		s.target.stray(strays...)
		pass(time.Minute)
		require.True(t, s.loop.Status().Refused)
		for _, id := range []string{"", "new"} { // a wake without a change, and one with
			if id != "" {
				s.put(id)
			}
			s.wake()
			pass(10 * time.Second)
			st := s.loop.Status()
			require.True(t, st.Refused)
			require.False(t, st.Converged)
			require.Len(t, s.target.names(), 15)
		}
		require.EqualValues(t, 1, s.loop.Status().Drifts)

		s.put(strays...) // what was too much is wanted again
		s.wake()
		pass(time.Minute)
		require.True(t, s.loop.Status().Converged)
		require.Len(t, s.target.names(), 16)
	})
}

func TestRefusedReadBacksAreNotRepeatedInAHurry(t *testing.T) {
	opts := guarded()
	opts.RetryMax = 10 * time.Second
	play(t, opts, func(t *testing.T, s *scene) {
		s.target.stray(names("stray", 30)...)
		s.put("a")
		s.wake()
		for range 600 { // woken every 100 ms
			pass(100 * time.Millisecond)
			s.wake()
		}
		gaps := s.target.gaps()
		require.Less(t, len(gaps), 12)
		for i, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
			require.LessOrEqual(t, gaps[i], want*time.Second+100*time.Millisecond, "pause %d", i)
			require.GreaterOrEqual(t, gaps[i], want*time.Second*3/4, "pause %d", i)
		}
		s.loop.Force() // waits for nothing
		synctest.Wait()
		require.Equal(t, []string{"a"}, s.target.names())
	})
}

func TestAPlanThatOpensTooMuchIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name              string
		fraction          float64
		isolated, leaving int
		owned, deletes    int
		want              string // "" lets it through
	}{
		{"exactly the share passes", 0.5, 40, 20, 0, 0, ""},
		{"more is refused", 0.5, 1000, 990, 3000, 1, "refused to open 990 of 1000 isolated endpoints of ovn: more than 0.5"},
		{"few endpoints are not guarded", 0.5, 19, 19, 0, 0, ""},
		{"the least number is guarded", 0.5, 20, 20, 0, 0, "refused to open 20 of 20 isolated endpoints of ovn"},
		{"deletes are told alone", 0.5, 40, 20, 30, 20, "refused to delete 20 of 30 owned rows of ovn: more than 0.5"},
		{"both are told", 0.5, 40, 30, 30, 20, "refused to delete 20 of 30 owned rows and to open 30 of 40 isolated endpoints of ovn"},
		{"zero refuses to open any", 0, 40, 1, 0, 0, "refused to open 1 of 40"},
		{"one refuses none", 1, 40, 40, 0, 0, ""},
		{"what cannot tell is not guarded", 0, 0, 0, 0, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &backends.Plan{Owned: tc.owned, Isolated: tc.isolated, Leaving: tc.leaving}
			for range tc.deletes {
				p.Ops = append(p.Ops, backends.Op{Verb: backends.Delete})
			}
			err := reconcile.Options{Target: "ovn", MaxDeleteFraction: tc.fraction}.Guard(p)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, reconcile.IsRefused(err))
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, "check that the sources are complete, then force it")
		})
	}
}

func TestALoopOpensTooMuchOnlyWhenForced(t *testing.T) {
	play(t, guarded(), func(t *testing.T, s *scene) {
		s.put("a")
		s.wake()
		s.target.isolated, s.target.leaving = 100, 99
		s.put("b")
		s.wake()
		require.ErrorContains(t, s.loop.Status().Err, "refused to open 99 of 100 isolated endpoints of fake")
		require.Equal(t, []string{"a"}, s.target.names())
		s.loop.Force()
		synctest.Wait()
		require.Equal(t, []string{"a", "b"}, s.target.names())
	})
}
