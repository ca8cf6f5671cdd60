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
	// Silence is how long an API server may send nothing on its connections, although it is asked to, until it is not ready: it has
	// stopped, or the network has. Connecting may take as long. 3 seconds.
	Silence time.Duration
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
	orDefault(&p.Silence, 3*time.Second)
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
	cause         Cause               // why it is not ready
	logged        map[Cause]time.Time // when each cause was last logged since it was ready
}

// logAgain is how long a cause is not logged again that alternates with others.
const logAgain = time.Minute

func newHealth(probe Probe, log logrus.FieldLogger) *health {
	return &health{probe: probe.complete(), log: log, wake: make(chan struct{}, 1), message: "not checked yet", cause: CauseUnchecked, logged: map[Cause]time.Time{}}
}

// inherit takes over the state of the same endpoint with other credentials.
func (h *health) inherit(from *health) {
	from.mu.Lock()
	defer from.mu.Unlock()
	h.known, h.message, h.cause = from.known, from.message, from.cause
	h.ready.Store(from.ready.Load())
}

func (h *health) state() (ready bool, cause Cause, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ready.Load(), h.cause, h.message
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
			h.pass()
		} else if !h.ready.Load() {
			h.message = "the last health check passed"
		}
		return
	}
	h.passes, h.message = 0, err.Error()
	h.fails++
	if h.fails >= h.probe.Failures || !h.ready.Load() {
		h.fail(err)
	}
}

// eject makes the endpoint not ready at once, because no connection was possible.
func (h *health) eject(err error) (changed bool) {
	h.mu.Lock()
	changed = h.ready.Load()
	h.known, h.passes, h.message = true, 0, err.Error()
	h.fails = h.probe.Failures
	h.fail(err)
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
	return changed
}

// pass makes the endpoint ready. The caller holds the lock.
func (h *health) pass() {
	if h.ready.Swap(true) {
		return
	}
	h.cause = ""
	clear(h.logged)
	h.log.Info("API server is ready")
}

// fail makes the endpoint not ready, and logs why: once for each cause, also if it has never been ready. The caller holds the lock.
func (h *health) fail(err error) {
	h.ready.Store(false)
	before := h.cause
	h.cause = CauseOf(err)
	if last, found := h.logged[h.cause]; found && (h.cause == before || time.Since(last) < logAgain) {
		return
	}
	h.logged[h.cause] = time.Now()
	h.log.WithFields(logrus.Fields{"cause": string(h.cause), "reason": h.cause.Text()}).WithError(err).Warn("API server is not ready")
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
