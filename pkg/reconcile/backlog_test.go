package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

// largest is an observer that remembers the most operations and changes that a round from changes had, and how many there were.
type largest struct {
	reconcile.Observers

	ops, changes, rounds, committed int
}

// Planned counts plans, also those that are cut.
func (l *largest) Planned(_ string, p *backends.Plan, _ time.Duration) {
	if !p.Full && len(p.Ops) > 0 {
		l.ops, l.rounds = max(l.ops, len(p.Ops)), l.rounds+1
	}
}

// Round counts what was written.
func (l *largest) Round(_ string, r *reconcile.Round) {
	if !r.Full && r.Operations > 0 {
		l.changes, l.committed = max(l.changes, r.Changes), l.committed+1
	}
}

// TestARoundHandlesSoManyChanges changes a source thousands of times while its target is busy with one write.
func TestARoundHandlesSoManyChanges(t *testing.T) {
	for _, tc := range []struct {
		name                string
		each, snapshots     int // changes of a snapshot, and how many snapshots
		wantOps, wantRounds int // in one round, and how many rounds
	}{
		{"few", 1, 450, 450, 2},
		{"a storm of small changes", 1, 1900, 500, 5},
		{"a storm", 4, 1000, 500, 10},
		{"large snapshots", 300, 10, 300, 11},
		{"a target that falls behind", 400, 100, 400 * (100 - 31), 33},
	} {
		t.Run(tc.name, func(t *testing.T) {
			observer := &largest{}
			opts := open
			play(t, opts, func(t *testing.T, s *scene) {
				s.stop()
				opts.Target, opts.Observer = "fake", observer
				s.loop = reconcile.New(s.target, s.latest, opts)
				s.put("first")
				s.run(t)
				pass(0)
				s.target.slow = time.Second
				s.put("second")
				s.wake()
				for i := range tc.snapshots {
					var ids []string
					for j := range tc.each {
						ids = append(ids, fmt.Sprint("s", i, "-", j))
					}
					s.put(ids...)
					s.loop.Wake()
				}
				for range 3 * tc.wantRounds {
					pass(time.Second)
				}
				st := s.loop.Status()
				require.True(t, st.Converged)
				require.Equal(t, s.latest().Revision(), st.Revision)
				require.Len(t, s.target.names(), 2+tc.each*tc.snapshots)
				require.LessOrEqual(t, observer.ops, tc.wantOps)
				require.LessOrEqual(t, observer.rounds, tc.wantRounds)
				require.LessOrEqual(t, observer.changes, min(tc.wantOps+1, max(500, tc.wantOps)), "one for each operation, and what the step began with")
				require.Equal(t, observer.rounds, observer.committed)
				rounds := s.loop.Rounds()
				require.Len(t, rounds, 1+observer.committed, "with the first one")
				require.Equal(t, time.Second, rounds[2].Committed)
				require.EqualValues(t, 1, st.FullPlans)
			})
		})
	}
}

// TestAStormOfTheSameIsOneRound lets a few sets come and go thousands of times while the target is busy.
func TestAStormOfTheSameIsOneRound(t *testing.T) {
	play(t, open, func(t *testing.T, s *scene) {
		s.put("first")
		s.wake()
		s.target.slow = time.Second
		s.put("second")
		s.wake()
		for i := range 4000 {
			if id := fmt.Sprint("s", i/2%100); i%2 == 0 {
				s.put(id)
			} else {
				s.drop(id)
			}
			s.loop.Wake()
		}
		pass(time.Minute)
		require.Equal(t, []string{"first", "second"}, s.target.names())
		require.Equal(t, []intent.Revision{0, 1, 2}, s.target.sinces())
	})
}

// TestAFailureSkipsWhatWasOnTheWay lets a write fail while many changes wait: the next one compares everything with the newest snapshot.
func TestAFailureSkipsWhatWasOnTheWay(t *testing.T) {
	play(t, open, func(t *testing.T, s *scene) {
		s.put("first")
		s.wake()
		s.target.slow, s.target.failApply = time.Second, 1
		s.put("second", "third")
		s.wake()
		for i := range 1200 {
			s.put(fmt.Sprint("s", i))
			s.loop.Wake()
		}
		pass(time.Minute)
		require.Len(t, s.target.names(), 1203)
		require.Equal(t, []intent.Revision{0, 1, 0}, s.target.sinces())
	})
}

// TestWithAPauseAllChangesAreOneRound has a loop that gathers changes for a while.
func TestWithAPauseAllChangesAreOneRound(t *testing.T) {
	play(t, reconcile.Options{MaxDeleteFraction: 1, MinInterval: time.Minute}, func(t *testing.T, s *scene) {
		s.put("first")
		s.wake()
		pass(time.Minute)
		for i := range 1200 {
			s.put(fmt.Sprint("s", i))
			s.loop.Wake()
		}
		pass(2 * time.Minute)
		require.Len(t, s.target.names(), 1201)
		require.LessOrEqual(t, len(s.target.sinces()), 3)
	})
}
