//go:build e2e

package e2e_test

import (
	"testing"
	"time"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// flip rewrites the web policy, odd turns for fresh and even ones for old, and returns the port that opens and the one
// that closes.
func (s *stage) flip(t *testing.T, turn int) (opens, closes uint16) {
	t.Helper()
	opens, closes = old, fresh
	if turn%2 == 1 {
		opens, closes = fresh, old
	}
	put(t, s.dir, "web-policy.yaml", webPolicy(int(opens)))
	return opens, closes
}

// TestKilled kills the daemon at odd moments while clients connect in a loop.
func TestKilled(t *testing.T) {
	s := newStage(t)
	s.flip(t, 0)
	daemon := start(t, s.dir, s.lab.NBUnix())
	s.settle(t, daemon)
	w := s.watch(t)
	daemon.Kill()
	w.check(t)
	// Without a daemon, what was in force stays in force.
	s.flip(t, 1)
	w.turns(t, 20)
	s.expect(t, ovnlab.Answered, "client", "web", "tcp", old)
	s.expect(t, ovnlab.Timeout, "client", "web", "tcp", fresh)

	for turn, delay := range []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond} {
		daemon = start(t, s.dir, s.lab.NBUnix())
		opens, closes := s.flip(t, turn)
		time.Sleep(delay) // pause: when exactly it dies is the point, any time will do
		daemon.Kill()
		daemon = start(t, s.dir, s.lab.NBUnix())
		s.settle(t, daemon)
		s.expect(t, ovnlab.Answered, "client", "web", "tcp", opens)
		s.expect(t, ovnlab.Timeout, "client", "web", "tcp", closes)
		w.check(t)
		daemon.Kill()
	}
}

// TestDatabaseRestarted takes the databases away and brings them back while clients connect in a loop.
func TestDatabaseRestarted(t *testing.T) {
	s := newStage(t)
	s.flip(t, 0)
	daemon := start(t, s.dir, s.lab.NBTCP())
	s.settle(t, daemon)
	w := s.watch(t)
	stop := []func(){s.lab.StopDBs, s.lab.KillDBs, s.lab.StopDBs}
	for turn, end := range stop {
		end()
		opens, closes := s.flip(t, turn+1) // while no database listens
		w.turns(t, 10)
		running(t, daemon)
		s.lab.StartDBs()
		s.settle(t, daemon)
		s.expect(t, ovnlab.Answered, "client", "web", "tcp", opens)
		s.expect(t, ovnlab.Timeout, "client", "web", "tcp", closes)
		w.check(t)
	}
}
