package flow

import (
	"math/rand/v2"
	"sync"
	"time"
)

// The bounds of Retry-After, in seconds.
const (
	leastSpread = 3
	mostSpread  = 60
)

// refusals counts refused requests by the second, to estimate how many clients wait to come back.
type refusals struct {
	mu             sync.Mutex
	second         int64
	count, earlier int // in this second, and in the one before
}

// note counts one refusal, and returns how many there were recently.
func (r *refusals) note(now time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if second := now.Unix(); second != r.second {
		r.earlier = 0
		if second == r.second+1 {
			r.earlier = r.count
		}
		r.second, r.count = second, 0
	}
	r.count++
	return max(r.count, r.earlier)
}

// RetryAfter counts a refused request and returns the seconds after which its client should try again. They are random, so
// that clients that were refused together do not return together, and spread over the time that the limit needs for them.
func (l *Limiter) RetryAfter() int {
	spread := leastSpread
	if l != nil {
		waiting := l.refusals.note(time.Now())
		if l.bucket != nil {
			spread = max(spread, min(int(float64(waiting)/float64(l.bucket.Limit())), mostSpread))
		}
	}
	return 1 + rand.IntN(spread) //nolint:gosec // it spreads load, and protects nothing
}
