//go:build e2e

package ovnlab

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
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
	attempts []Attempt  // that ended
	waiting  []*waiting // those that have not ended, in the order of their beginning
}

// Loop starts a client that connects, with a new connection each time and a pause between them, until Stop.
func (h *Host) Loop(protocol string, from netip.Addr, to netip.AddrPort, within, pause time.Duration) *Loop {
	h.tb.Helper()
	return h.loop(pause, 1, func(ctx context.Context) (Outcome, error) { return h.Connect(ctx, protocol, from, to, within) })
}

// overtaken is how many later attempts are answered before one that still waits counts as lost.
const overtaken = 50

// Steady starts a client that connects with pauses between the attempts, until Stop, and whose every attempt should be
// answered. One is lost if later ones were answered before it, and not after a time: on a busy machine they all wait alike.
func (h *Host) Steady(protocol string, from netip.Addr, to netip.AddrPort, pause time.Duration) *Loop {
	h.tb.Helper()
	return h.loop(pause, 2*overtaken, func(ctx context.Context) (Outcome, error) { return h.Connect(ctx, protocol, from, to, 0) })
}

// loop starts a client that makes so many attempts at once.
func (h *Host) loop(pause time.Duration, atOnce int, connect func(ctx context.Context) (Outcome, error)) *Loop {
	h.tb.Helper()
	ctx, cancel := context.WithCancel(h.tb.Context())
	l := &Loop{cancel: cancel, done: make(chan struct{})}
	h.tb.Cleanup(func() { l.Stop() })
	go func() {
		defer close(l.done)
		var group sync.WaitGroup
		defer group.Wait()
		places := make(chan struct{}, atOnce)
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for ctx.Err() == nil {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return
			}
			one, lose := context.WithCancel(ctx)
			a := l.begin(lose)
			group.Go(func() {
				defer lose()
				o, err := connect(one)
				if ctx.Err() == nil {
					l.end(a, o, err)
				}
				<-places
			})
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	}()
	return l
}

// waiting is an attempt that has not ended.
type waiting struct {
	n    int // attempts that began before it
	at   time.Time
	lose func()
	by   int // later attempts that were answered
}

func (l *Loop) begin(lose func()) *waiting {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &waiting{n: len(l.attempts) + len(l.waiting), at: time.Now(), lose: lose}
	l.waiting = append(l.waiting, a)
	return a
}

// end records how an attempt ended, and ends those that too many have overtaken.
func (l *Loop) end(a *waiting, o Outcome, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.by >= overtaken {
		o, err = Timeout, nil
	}
	l.attempts = append(l.attempts, Attempt{At: a.at, Took: time.Since(a.at), Outcome: o, Err: err})
	i := slices.Index(l.waiting, a)
	if o == Answered {
		for _, earlier := range l.waiting[:i] {
			if earlier.by++; earlier.by == overtaken {
				earlier.lose()
			}
		}
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
}

// Attempts lists the attempts so far.
func (l *Loop) Attempts() []Attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Attempt(nil), l.attempts...)
}

// Ended is how many attempts, the first ones, have ended.
func (l *Loop) Ended() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) > 0 {
		return l.waiting[0].n
	}
	return len(l.attempts)
}

// Begun is how many attempts have begun.
func (l *Loop) Begun() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.attempts) + len(l.waiting)
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
