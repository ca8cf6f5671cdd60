package sdwan

import (
	"sync"
	"time"
)

// A reload may interrupt tunnels. So the first change after a quiet time is written at once, but after a reload, changes are gathered until
// none has come for a while, but not for longer than the limit after that reload.
const (
	quietPause = time.Second
	quietLimit = 5 * time.Second
)

// quiet delays wake-ups after a reload. The zero value delays none.
type quiet struct {
	mu       sync.Mutex
	reloaded time.Time // when services were last reloaded
	timer    *time.Timer
}

// Reloaded records that services were reloaded.
func (q *quiet) Reloaded() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reloaded = time.Now()
}

// Wake calls wake: at once, or after the pause that the last reload requires. Calls in between are combined.
func (q *quiet) Wake(wake func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	pause := min(quietPause, time.Until(q.reloaded.Add(quietLimit)))
	switch {
	case pause <= 0:
		wake()
	case q.timer != nil:
		q.timer.Reset(pause)
	default:
		q.timer = time.AfterFunc(pause, func() {
			q.mu.Lock()
			q.timer = nil
			q.mu.Unlock()
			wake()
		})
	}
}

// Stop drops a wake-up that is due later.
func (q *quiet) Stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
}
