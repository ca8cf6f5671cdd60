package flow

import (
	"sync"
	"time"
)

// demand counts what clients ask for.
type demand struct {
	mu                sync.Mutex
	admitted, refused float64
	peak              int64 // of requests in progress
	since             time.Time
}

func (d *demand) count(admitted bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if admitted {
		d.admitted++
	} else {
		d.refused++
	}
}

func (d *demand) reach(inflight int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peak = max(d.peak, inflight)
}

// Demand returns what clients would have used since it was last called, without a limit: requests per second, or at a time.
func (l *Limiter) Demand() float64 {
	d := &l.demand
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	took, all := now.Sub(d.since).Seconds(), d.admitted+d.refused
	first := d.since.IsZero()
	peak, admitted := float64(d.peak), d.admitted
	d.admitted, d.refused, d.peak, d.since = 0, 0, l.inflight.Load(), now
	switch {
	case l.bucket == nil && admitted > 0:
		return peak * all / admitted
	case l.bucket == nil:
		return max(peak, min(all, float64(l.max.Load())))
	case first || took <= 0:
		return 0
	}
	return all / took
}
