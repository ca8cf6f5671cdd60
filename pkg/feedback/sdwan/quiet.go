package sdwan

import (
	"sync"
	"time"

	"github.com/netloom/netloom/pkg/openwrt"
)

// quiet delays wake-ups after a reload, which may interrupt tunnels: the first change is written at once, and those that come before the
// device may reload a service again are gathered until then. The zero value delays none.
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

// Wake calls wake: at once, or when the services may be reloaded again. Calls in between are combined.
func (q *quiet) Wake(wake func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		return
	}
	pause := time.Until(q.reloaded.Add(openwrt.ReloadPause))
	if pause <= 0 {
		wake()
		return
	}
	q.timer = time.AfterFunc(pause, func() {
		q.mu.Lock()
		q.timer = nil
		q.mu.Unlock()
		q.Wake(wake) // services may have been reloaded once more
	})
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
