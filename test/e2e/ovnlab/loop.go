//go:build e2e

package ovnlab

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// Attempt is one iteration of a Loop.
type Attempt struct {
	At      time.Time
	Took    time.Duration
	Outcome Outcome
	Err     error // an error of the test itself
}

// String formats a.
func (a Attempt) String() string {
	s := fmt.Sprintf("%s %s after %s", a.At.Format("15:04:05.000"), a.Outcome, a.Took.Round(time.Millisecond))
	if a.Err != nil {
		s += ": " + a.Err.Error()
	}
	return s
}

// Loop is a client that connects again and again and records the outcomes.
type Loop struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	attempts []Attempt
}

// Loop starts a client that connects, with a new connection each time and a pause between them, until Stop.
func (h *Host) Loop(protocol string, from netip.Addr, to netip.AddrPort, within, pause time.Duration) *Loop {
	h.tb.Helper()
	ctx, cancel := context.WithCancel(h.tb.Context())
	l := &Loop{cancel: cancel, done: make(chan struct{})}
	h.tb.Cleanup(func() { l.Stop() })
	go func() {
		defer close(l.done)
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for ctx.Err() == nil {
			start := time.Now()
			o, err := h.Connect(ctx, protocol, from, to, within)
			if ctx.Err() != nil {
				return
			}
			l.mu.Lock()
			l.attempts = append(l.attempts, Attempt{At: start, Took: time.Since(start), Outcome: o, Err: err})
			l.mu.Unlock()
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	}()
	return l
}

// Attempts lists the attempts so far.
func (l *Loop) Attempts() []Attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Attempt(nil), l.attempts...)
}

// Count is how many attempts ended so far.
func (l *Loop) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.attempts)
}

// Stop stops the client, waits for it and lists the attempts. It may be called again.
func (l *Loop) Stop() []Attempt {
	l.cancel()
	<-l.done
	return l.Attempts()
}

// Except lists the attempts that did not end in want.
func Except(attempts []Attempt, want Outcome) []Attempt {
	var out []Attempt
	for _, a := range attempts {
		if a.Outcome != want || a.Err != nil {
			out = append(out, a)
		}
	}
	return out
}
