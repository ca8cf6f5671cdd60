package reconcile

import (
	"time"

	"github.com/netloom/netloom/backends"
)

// stopwatch measures the stages of a round between the marks that its backend passes.
type stopwatch struct {
	planned time.Time // when it knew the operations; zero if it does not say
	turn    time.Time // since when it makes the next transaction
	sent    time.Duration
}

// pass takes the time at a mark.
func (s *stopwatch) pass(m backends.Mark) {
	now := time.Now()
	switch m {
	case backends.Planned:
		s.planned = now
	case backends.Sent:
		s.sent += now.Sub(s.turn)
		s.turn = now
	case backends.Answered:
		s.turn = now
	}
}

// ordered returns for how long the operations have been put in order until now, zero if the backend does not say.
func (s *stopwatch) ordered(now time.Time) time.Duration {
	if s.planned.IsZero() {
		return 0
	}
	return now.Sub(s.planned)
}

// apply begins with the transactions, and returns when.
func (s *stopwatch) apply() time.Time {
	s.turn = time.Now()
	return s.turn
}
