package upstream

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

// Probe configures health checks. Zero values are the defaults.
type Probe struct {
	Interval time.Duration // between checks of an endpoint whose state is settled; 5 seconds
	Retry    time.Duration // between checks of one whose state may change; 1 second
	Timeout  time.Duration // of one check; 5 seconds
	Failures int           // checks that fail in a row until an endpoint is not ready; 3
	Passes   int           // checks that pass in a row until it is ready again; 2
}

func (p Probe) complete() Probe {
	orDefault := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	orDefault(&p.Interval, 5*time.Second)
	orDefault(&p.Retry, time.Second)
	orDefault(&p.Timeout, 5*time.Second)
	if p.Failures <= 0 {
		p.Failures = 3
	}
	if p.Passes <= 0 {
		p.Passes = 2
	}
	return p
}

// health is whether an endpoint is ready. It changes with hysteresis, so that one lost check does not move all clients.
type health struct {
	probe Probe
	log   logrus.FieldLogger
	ready atomic.Bool
	wake  chan struct{} // asks for a check now

	mu            sync.Mutex
	known         bool // there was a check
	fails, passes int  // in a row
	message       string
}

func newHealth(probe Probe, log logrus.FieldLogger) *health {
	return &health{probe: probe.complete(), log: log, wake: make(chan struct{}, 1), message: "not checked yet"}
}

// inherit takes over the state of the same endpoint with other credentials.
func (h *health) inherit(from *health) {
	from.mu.Lock()
	defer from.mu.Unlock()
	h.known, h.message = from.known, from.message
	h.ready.Store(from.ready.Load())
}

func (h *health) state() (ready bool, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ready.Load(), h.message
}

// record takes the result of a check. The first check decides alone.
func (h *health) record(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := !h.known
	h.known = true
	if err == nil {
		h.fails, h.message = 0, ""
		h.passes++
		if first || h.passes >= h.probe.Passes {
			h.set(true)
		} else if !h.ready.Load() {
			h.message = "the last health check passed"
		}
		return
	}
	h.passes, h.message = 0, err.Error()
	h.fails++
	if h.fails >= h.probe.Failures {
		h.set(false)
	}
}

// eject makes the endpoint not ready at once, because no connection was possible.
func (h *health) eject(err error) (changed bool) {
	h.mu.Lock()
	changed = h.ready.Load()
	h.known, h.passes, h.message = true, 0, err.Error()
	h.fails = h.probe.Failures
	h.set(false)
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
	return changed
}

// set changes the state. The caller holds the lock.
func (h *health) set(ready bool) {
	if h.ready.Swap(ready) == ready {
		return
	}
	if ready {
		h.log.Info("API server is ready")
	} else {
		h.log.WithField("cause", h.message).Warn("API server is not ready")
	}
}

// pause is how long to wait for the next check, with jitter: several gateways do not check together.
func (h *health) pause() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.probe.Interval
	if h.fails > 0 || !h.ready.Load() {
		d = h.probe.Retry
	}
	return d*9/10 + rand.N(d/5+1) //nolint:gosec // it spreads load, and protects nothing
}

// probe checks the endpoint until ctx ends.
func (e *endpoint) probe(ctx context.Context) {
	for {
		check, done := context.WithTimeout(ctx, e.health.probe.Timeout)
		err := e.check(check)
		done()
		if ctx.Err() != nil {
			return
		}
		e.health.record(err)
		timer := time.NewTimer(e.health.pause())
		select {
		case <-timer.C:
		case <-e.health.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}
