package ovsdb

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 50 * time.Millisecond
	// longestPause is the longest wait while no server answers; longestElection applies while servers answer but none
	// leads.
	longestPause    = 2 * time.Second
	longestElection = 300 * time.Millisecond
)

// backoff is how long to wait before the next round of dials. The zero value waits the shortest time first.
type backoff struct {
	rounds int
}

// next returns the next wait: twice the previous one, at most limit, shortened by up to half at random so that the
// clients of a server that returns do not all connect at once.
func (b *backoff) next(limit time.Duration) time.Duration {
	pause := limit
	if b.rounds < 16 {
		pause = min(firstPause<<b.rounds, limit)
		b.rounds++
	}
	return pause - rand.N(pause/2+1) //nolint:gosec // Jitter needs no secret.
}

// sleep waits, or returns at once when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
