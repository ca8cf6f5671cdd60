package reconcile_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/reconcile"
)

// roundTime is how long a round of a quick target takes: it plans as long as it applies.
const roundTime = 2 * time.Millisecond

// storm makes changes of a scene that do not depend on each other, so many a second on average. Sets come, and later every other change removes
// one. It is the same each time.
func (s *scene) storm(changes, perSecond int) {
	const lives = 301 // far more than there are in a round
	each, random := time.Second/time.Duration(perSecond), rand.New(rand.NewPCG(1, 2))
	for i := range changes {
		if i%2 == 0 || i < lives {
			s.put(fmt.Sprint("s", i))
		} else {
			s.drop(fmt.Sprint("s", i-lives))
		}
		s.loop.Wake()
		pass(min(time.Duration(random.ExpFloat64()*float64(each)), longestGap*each))
	}
}

// longestGap is the longest time between two changes of a storm, in means of it.
const longestGap = 6

// began is a scene in sync whose rounds take roundTime.
func (s *scene) began() {
	s.put("first")
	s.wake()
	s.target.slow = roundTime / 2
}

// TestALoneChangeNeverWaits makes changes that are one at a time, however fast: each begins a round at once.
func TestALoneChangeNeverWaits(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after time.Duration // the commit of the one before
	}{
		{"one after the other", 0},
		{"by a client that waits for each", 3 * time.Millisecond},
		{"now and then", 100 * time.Millisecond},
		{"rarely", time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			play(t, open, func(t *testing.T, s *scene) {
				s.began()
				const changes = 90
				for i := range changes {
					s.put(fmt.Sprint("s", i))
					s.wake()
					pass(roundTime + tc.after)
				}
				rounds := s.loop.Rounds()
				require.Len(t, rounds, 1+changes)
				for _, r := range rounds[1:] {
					require.Zero(t, r.Waited)
					require.Equal(t, 1, r.Snapshots)
				}
			})
		})
	}
}

// TestAnOrdinaryRateDoesNotWait makes ten changes a second: they wait for the round before and no longer than two changes that happen to
// meet cause.
func TestAnOrdinaryRateDoesNotWait(t *testing.T) {
	play(t, open, func(t *testing.T, s *scene) {
		s.began()
		s.storm(150, 10)
		pass(time.Second)
		for _, r := range s.loop.Rounds() {
			require.LessOrEqual(t, r.Waited, roundTime)
		}
	})
}

// TestAStormIsWrittenTogether makes thousands of changes at several rates.
func TestAStormIsWrittenTogether(t *testing.T) {
	for _, tc := range []struct{ perSecond, wantEach int }{
		{100, 8}, {200, 18}, {400, 37}, {800, 70}, {2000, 125},
	} {
		t.Run(fmt.Sprintf("%d a second", tc.perSecond), func(t *testing.T) {
			play(t, open, func(t *testing.T, s *scene) {
				s.began()
				const changes = 4000
				s.storm(changes, tc.perSecond)
				pass(time.Second)
				require.Len(t, s.target.names(), s.latest().SetCount())
				require.Equal(t, s.latest().Revision(), s.loop.Status().Revision)
				require.GreaterOrEqual(t, changes/(s.target.applies-1), tc.wantEach, "changes of a round")
				rounds := s.loop.Rounds() // the last ones
				require.Greater(t, len(rounds), 20)
				for i := 1; i < len(rounds); i++ {
					require.LessOrEqual(t, rounds[i].Waited, reconcile.LongestPause+roundTime, "any change, whether it opens or closes")
					require.LessOrEqual(t, rounds[i].Began.Sub(rounds[i-1].Began), reconcile.LongestPause+longestGap*time.Second/time.Duration(tc.perSecond)+roundTime,
						"the time without a commit: that without a change comes on top")
				}
			})
		})
	}
}

// TestAfterAStormAChangeDoesNotWait makes single changes after a storm, each 3 ms after the commit of the one before.
func TestAfterAStormAChangeDoesNotWait(t *testing.T) {
	for _, tc := range []struct {
		name    string
		idle    time.Duration
		waiting int // changes at most, from the second on
	}{
		{"as soon as the pause is over", reconcile.LongestPause, 12},
		{"a second later", 1100 * time.Millisecond, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			play(t, open, func(t *testing.T, s *scene) {
				s.began()
				s.storm(1000, 400)
				pass(reconcile.LongestPause + roundTime)
				before := len(s.loop.Rounds())
				pass(tc.idle)
				require.Len(t, s.loop.Rounds(), before)
				var waits []time.Duration
				for i := range 20 {
					s.put(fmt.Sprint("later", i))
					s.wake()
					for len(s.loop.Rounds()) == before+i {
						pass(time.Millisecond / 2)
					}
					waits = append(waits, s.loop.Rounds()[before+i].Waited)
					pass(3 * time.Millisecond)
				}
				require.Zero(t, waits[0])
				for i, wait := range waits[1:] {
					require.LessOrEqual(t, wait, reconcile.LongestPause)
					require.True(t, i < tc.waiting || wait == 0, waits)
				}
			})
		})
	}
}

// TestAReleaseDoesNotWait releases kept rows in the middle of a storm.
func TestAReleaseDoesNotWait(t *testing.T) {
	play(t, reconcile.Options{}, func(t *testing.T, s *scene) {
		s.target.stray(names("kept", 3)...)
		s.began()
		kept := s.loop.Status().Kept
		require.Len(t, kept, 3)
		s.storm(200, 400)
		s.loop.Release(kept)
		pass(5 * roundTime)
		require.NotContains(t, s.target.names(), "kept00")
	})
}

// TestAPauseIsNoReasonToForget stops a loop during a pause: the next run begins with everything.
func TestAPauseIsNoReasonToForget(t *testing.T) {
	play(t, open, func(t *testing.T, s *scene) {
		s.began()
		s.storm(201, 400) // the last one waits
		s.stop()
		require.NotContains(t, s.target.names(), "s200")
		s.run(t)
		synctest.Wait()
		pass(roundTime)
		require.Contains(t, s.target.names(), "s200")
	})
}
