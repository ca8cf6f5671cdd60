package reconcile_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/reconcile"
)

func guarded() reconcile.Options {
	return reconcile.Options{MaxDeleteFraction: 0.5, MaxInterval: time.Hour, RetryMin: time.Second}
}

func rowsNamed(all ...string) []object.Ref {
	var out []object.Ref
	for _, name := range all {
		out = append(out, object.Ref{Kind: "row", Name: name})
	}
	return out
}

func TestWhatIsMissingAtTheStartIsKeptAndAllElseIsWritten(t *testing.T) {
	play(t, guarded(), func(t *testing.T, s *scene) {
		old := names("old", 5)
		s.target.stray(old...)
		s.put("new", old[0])
		s.wake()
		require.Len(t, s.target.names(), 6)
		st := s.loop.Status()
		require.True(t, st.Converged)
		require.NoError(t, st.Err)
		require.Equal(t, rowsNamed(old[1:]...), st.Kept)
		require.Zero(t, st.Drifts)

		s.put("newer")
		s.wake()
		require.Contains(t, s.target.names(), "newer")
		s.drop("new")
		s.wake()
		require.NotContains(t, s.target.names(), "new", "it was there after the start: its deletion is intended")

		s.put(old[1]) // comes back
		s.wake()
		require.Equal(t, rowsNamed(old[2:]...), s.loop.Status().Kept)
		s.drop(old[1])
		s.wake()
		require.NotContains(t, s.target.names(), old[1])

		s.loop.Release(rowsNamed(old[2], "no such"))
		synctest.Wait()
		require.Equal(t, rowsNamed(old[3:]...), s.loop.Status().Kept)
		require.NotContains(t, s.target.names(), old[2])
		s.loop.Release(rowsNamed(old[3:]...))
		synctest.Wait()
		require.Empty(t, s.loop.Status().Kept)
		require.Equal(t, []string{"newer", old[0]}, s.target.names())

		s.put("last")
		s.wake()
		sinces := s.target.sinces()
		require.NotZero(t, sinces[len(sinces)-1], "plans look at what changed again")
		require.Zero(t, s.loop.Status().Drifts)
	})
}

// TestWhatOthersChangeIsRepairedWhileRowsAreKept deletes a kept row again and again, much faster than a target is read back. It is back after
// the time of a repair each time, and what changes meanwhile is written.
func TestWhatOthersChangeIsRepairedWhileRowsAreKept(t *testing.T) {
	play(t, guarded(), func(t *testing.T, s *scene) {
		old := names("old", 5)
		s.target.stray(old...)
		s.put("new")
		s.wake()
		require.Len(t, s.loop.Status().Kept, 5)
		pass(time.Minute)
		s.target.slow = 50 * time.Millisecond
		repairs, plans := s.target.repairs, s.loop.Status().FullPlans
		const times = 20
		for i := range times {
			s.target.tamper(old[1])
			s.put(fmt.Sprint("more", i))
			s.loop.Wake()
			pass(500 * time.Millisecond)
			require.Contains(t, s.target.names(), old[1])
			require.Contains(t, s.target.names(), fmt.Sprint("more", i))
		}
		require.Equal(t, repairs+times, s.target.repairs)
		require.LessOrEqual(t, s.loop.Status().FullPlans, plans+2*times)
		require.True(t, s.loop.Status().Converged)
		require.EqualValues(t, times, s.loop.Status().Drifts)
		require.Len(t, s.loop.Status().Kept, 5)
	})
}

func TestWhatIsKeptIsKeptAfterAnError(t *testing.T) {
	play(t, guarded(), func(t *testing.T, s *scene) {
		old := names("old", 5)
		s.target.stray(old...)
		s.target.failApply = 2
		s.put("new", "newer")
		s.wake()
		pass(time.Minute)
		require.Len(t, s.target.names(), 7)
		require.Len(t, s.loop.Status().Kept, 5)
		pass(10 * time.Hour) // drift checks
		require.Len(t, s.target.names(), 7)
		require.Zero(t, s.loop.Status().Drifts)
	})
}

func TestOnlyTheFirstPlanIsJudged(t *testing.T) {
	play(t, guarded(), func(t *testing.T, s *scene) {
		rows := names("r", 10)
		s.put(rows...)
		s.wake()
		s.target.failApply = 1
		s.drop(rows[1:]...)
		s.wake()
		pass(time.Minute) // the rest of it is planned from read-back
		require.Equal(t, rows[:1], s.target.names())
		s.target.stray(names("stray", 9)...)
		pass(2 * time.Hour)
		require.Equal(t, rows[:1], s.target.names(), "what others wrote is drift")
	})
}

func TestEachRunIsJudgedAgain(t *testing.T) {
	play(t, guarded(), func(t *testing.T, s *scene) {
		rows := names("r", 10)
		s.put(rows...)
		s.wake()
		s.stop()
		s.drop(rows[1:]...)
		s.run(t)
		synctest.Wait()
		require.Len(t, s.target.names(), 10)
		require.Equal(t, rowsNamed(rows[1:]...), s.loop.Status().Kept)
	})
}

func TestGuardBounds(t *testing.T) {
	for _, tc := range []struct {
		name              string
		fraction          float64
		least, have, drop int
		wantKept          int
	}{
		{"exactly the share goes", 0.5, 0, 40, 20, 0},
		{"one more than the share is kept", 0.5, 0, 40, 21, 21},
		{"few objects may all go", 0.5, 0, 2, 2, 0},
		{"the least number is kept", 0.5, 0, 3, 3, 3},
		{"the least number can be set", 0.5, 20, 19, 19, 0},
		{"zero keeps any", 0, 0, 40, 1, 1},
		{"one keeps none", 1, 0, 40, 40, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opts := reconcile.Options{MaxDeleteFraction: tc.fraction, MinDeleteGuard: tc.least}
			play(t, opts, func(t *testing.T, s *scene) {
				rows := names("r", tc.have)
				s.target.stray(rows...)
				s.put(rows[tc.drop:]...)
				s.put("new")
				s.wake()
				require.Len(t, s.loop.Status().Kept, tc.wantKept)
				require.Len(t, s.target.names(), tc.have-tc.drop+tc.wantKept+1)
			})
		})
	}
}

func TestForceNamesWhatItRemovesAndExpires(t *testing.T) {
	for _, tc := range []struct {
		name     string
		wait     time.Duration
		wantRows int
	}{
		{"at once", 0, 1},
		{"within five minutes", 4 * time.Minute, 1},
		{"later", 6 * time.Minute, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var lines bytes.Buffer
			opts := guarded()
			log := logrus.New()
			log.SetOutput(&lines)
			opts.Log = log
			play(t, opts, func(t *testing.T, s *scene) {
				s.target.stray(names("old", 5)...)
				s.loop.Force()
				pass(tc.wait)
				s.put("new")
				s.wake()
				require.Len(t, s.target.names(), tc.wantRows)
				if tc.wantRows == 1 {
					for _, name := range names("old", 5) {
						require.Contains(t, lines.String(), "row "+name)
					}
				}
			})
		})
	}
}

func TestAForceLastsUntilTheTargetConverged(t *testing.T) {
	play(t, guarded(), func(t *testing.T, s *scene) {
		s.target.stray(names("old", 25)...)
		s.target.failApply = 1 // the forced plan is written in part, the rest is still a large share
		s.loop.Force()
		s.put("new")
		s.wake()
		pass(time.Minute)
		require.Equal(t, []string{"new"}, s.target.names())
		s.stop()
		s.target.stray(names("old", 25)...)
		s.run(t)
		synctest.Wait()
		require.Len(t, s.target.names(), 26, "it is spent")
	})
}

func TestRoundsThatReadBackLeaveTheTargetTimeForOthers(t *testing.T) {
	play(t, guarded(), func(t *testing.T, s *scene) {
		s.target.stray(names("old", 25)...)
		s.target.slow = time.Second
		s.put("new")
		s.wake()
		pass(time.Minute)
		before := len(s.target.sinces())
		for range 600 { // woken every 100 ms
			pass(100 * time.Millisecond)
			s.wake()
		}
		require.LessOrEqual(t, len(s.target.sinces())-before, 31)
	})
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

// TestKindsThatHaveNotBeenListed checks that nothing of such a kind counts as deleted, however few objects are missing.
func TestKindsThatHaveNotBeenListed(t *testing.T) {
	opts := guarded()
	opts.MaxDeleteFraction = 1
	opts.Unlisted = func(kind string) bool { return kind == "row" }
	play(t, opts, func(t *testing.T, s *scene) {
		s.target.stray("old")
		s.put("new")
		s.wake()
		require.Equal(t, []string{"new", "old"}, s.target.names())
		require.Equal(t, rowsNamed("old"), s.loop.Status().Kept)
		s.put("old")
		s.wake()
		s.drop("old")
		s.wake()
		require.Equal(t, []string{"new"}, s.target.names())
	})
}

// TestWhatIsSuspicious asks about plans that remove some of ten rows.
func TestWhatIsSuspicious(t *testing.T) {
	yes, known := func() bool { return true }, func(ref object.Ref) bool { return ref.Name == "a" }
	for _, tc := range []struct {
		name       string
		unreadable func() bool
		lost, want []object.Ref
	}{
		{"few", nil, rowsNamed("a", "b"), nil},
		{"few, and the source can be read", func() bool { return false }, rowsNamed("a", "b"), nil},
		{"few, and part of the source cannot be read", yes, rowsNamed("a", "b"), rowsNamed("b")},
		{"only what the source had, and part of it cannot be read", yes, rowsNamed("a"), nil},
		{"most", nil, rowsNamed("a", "b", "c", "d", "e", "f", "g"), rowsNamed("b", "c", "d", "e", "f", "g")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opts := guarded()
			opts.Unreadable, opts.Known = tc.unreadable, known
			got := opts.Suspicious(&backends.Plan{Full: true, Objects: map[string]int{"row": 10}, Lost: tc.lost}, intent.NewSnapshot().Next().Commit())
			require.Equal(t, tc.want, got)
		})
	}
}

// TestTheLastPolicyIsSuspicious asks about a plan that removes the rows of one or two objects, which are all that there are.
func TestTheLastPolicyIsSuspicious(t *testing.T) {
	for _, tc := range []struct {
		kind string
		lost int
		have int
		next bool // there is another policy now
		want bool
	}{
		{object.KindNetworkPolicy, 1, 1, false, true},
		{object.KindNetworkPolicy, 2, 2, false, true},
		{object.KindNetworkPolicy, 1, 2, false, false},
		{object.KindNetworkPolicy, 1, 1, true, false},
		{object.KindService, 2, 2, false, false},
	} {
		var lost []object.Ref
		for i := range tc.lost {
			lost = append(lost, object.Ref{Kind: tc.kind, Namespace: "shop", Name: fmt.Sprint(i)})
		}
		opts := reconcile.Options{MaxDeleteFraction: 0.5}
		b := intent.NewSnapshot().Next()
		if tc.next {
			b.PutPolicy(&intent.Policy{ID: "next", Origin: intent.Origin{Kind: tc.kind}})
		}
		got := opts.Suspicious(&backends.Plan{Full: true, Objects: map[string]int{tc.kind: tc.have}, Lost: lost}, b.Commit())
		require.Equal(t, tc.want, len(got) > 0, "%+v", tc)
	}
}
