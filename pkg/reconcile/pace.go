package reconcile

import (
	"math/rand/v2"
	"time"

	"golang.org/x/time/rate"
)

// outcome is how the last round ended; it determines what the next one waits for.
type outcome uint8

const (
	waiting     outcome = iota // for the first snapshot
	converged                  // for a wake or the drift interval
	again                      // for nothing: the guard asks for another plan
	failed                     // for the end of the backoff
	unreachable                // likewise, or for the backend to connect to the target
	lost                       // for nothing: the backend asks for a read-back
	onward                     // for nothing: the target is in sync with a snapshot on the way to the newest one
)

// pace decides when the next round is due. It has times, not timers, so that it can be asked at any moment.
type pace struct {
	opts *Options
	last outcome
	// What happened since the last round began.
	woken     bool // Wake was called
	triggered bool // the backend woke the loop
	released  bool // Release was called

	keeping  bool // every round reads back, because rows are kept, except for those that only undo what others changed
	owed     bool // the round that began last was woken, triggered or released
	began    time.Time
	ended    time.Time
	readBack time.Time     // when everything was last read back
	took     time.Duration // by the plan for that
	rested   time.Time     // until when the target rests from the last round that read back and kept rows
	wasted   time.Duration // by a plan that failed, since the round began
	failures int           // in a row
	backoff  time.Duration

	pause pause // between the commits of a storm

	changed   bool          // someone else changed the target, and nothing has repaired that
	budget    *rate.Limiter // of repairs of single rows
	busy      time.Time     // since when each round has found such changes; zero if the last found none
	contested time.Time     // when it was last found that the budget is exhausted; zero unless the target is contested
	whole     bool          // the last such change takes a read-back
	repairs   int           // read-backs because of such changes, in a row
	repaired  time.Time     // when the last of them began
}

func newPace(opts *Options) pace {
	return pace{opts: opts, woken: true, budget: rate.NewLimiter(repairRate, repairBurst)}
}

// begin records that a round starts, which will see everything that happened until now.
func (p *pace) begin() {
	if p.last == unreachable && p.triggered {
		p.failures = 0 // a restored connection is a new start
	}
	p.owed = p.woken || p.triggered || p.released
	p.woken, p.triggered, p.released, p.began, p.wasted = false, false, false, time.Now(), 0
}

// end records how a round that ended now went.
func (p *pace) end(m outcome, now time.Time) {
	p.last, p.ended = m, now
	if !p.readBack.Before(p.began) {
		p.rested = now.Add(now.Sub(p.began))
	}
	switch m {
	case failed, unreachable:
		p.backoff = jitter(backoff(p.opts.RetryMin, p.opts.RetryMax, p.failures))
		if p.opts.Spare > 0 {
			p.backoff = max(p.backoff, min(p.wasted, LongestInterval))
		}
		p.failures++
	case waiting, converged, again, lost, onward:
		p.failures = 0
	}
}

// wrote records that a round has committed something, before it ends.
func (p *pace) wrote(r *Round) {
	during := r.Waited > 0 && r.Began.Add(-r.Waited).Before(p.ended) // the round before
	p.pause.commit(r.Snapshots > 1 || during, time.Now())
}

// due is when the next round starts in the current state. It is false if only a wake can start one.
//
// A wake does not shorten the backoff after an error, or every event would hammer a target that is down. Nor does a
// trigger of the backend, which also comes for every logical port, unless the target was unreachable: then the connection
// is back, and the backoff drops to RetryMin.
func (p *pace) due() (time.Time, bool) {
	switch p.last {
	case lost, again, onward:
		return p.ended, true
	case failed, unreachable:
		wait := p.backoff
		if p.last == unreachable && p.triggered {
			wait = min(wait, p.opts.RetryMin)
		}
		return p.ended.Add(wait), true
	case waiting:
		return p.ended, p.woken || p.released
	case converged:
		due, ok := p.next(max(p.opts.MinInterval, p.rest()), p.readBack)
		sooner := func(at time.Time) {
			if !ok || at.Before(due) {
				due, ok = at, true
			}
		}
		if p.changed {
			sooner(p.undoDue(p.ended))
		}
		if !p.contested.IsZero() {
			sooner(p.contested.Add(contestHold))
		}
		return due, ok
	default:
		return time.Time{}, false
	}
}

// rest is the time until the next round that reads everything back, after the last one: that took as long, so that the target has half of
// the time for others. It may be negative.
func (p *pace) rest() time.Duration {
	if !p.keeping || p.released {
		return 0
	}
	return p.rested.Sub(p.ended)
}

// readBackDue reports whether a round that undid what others changed, while rows are kept, has to read back as well.
func (p *pace) readBackDue(now time.Time) bool {
	return p.checkDrift(now) || p.owed && !now.Before(p.rested)
}

// next is when a round is due if there was no error: gap after the last one if one was requested, and in a storm after its pause, otherwise at
// the drift interval, counted from since.
func (p *pace) next(gap time.Duration, since time.Time) (time.Time, bool) {
	earliest := p.ended.Add(gap)
	switch {
	case p.released:
		return earliest, true
	case p.woken, p.triggered:
		if ends := p.pause.ends(); ends.After(earliest) {
			earliest = ends
		}
		return earliest, true
	}
	drift := since.Add(p.interval())
	if drift.Before(earliest) {
		drift = earliest
	}
	return drift, p.opts.MaxInterval > 0
}

// mayRepair reports whether the budget has a repair left.
func (p *pace) mayRepair(now time.Time) bool {
	const almost = 1 - 1e-6 // the limiter computes with fractions
	return p.budget.TokensAt(now) >= almost
}

// undoDue is when what others changed is to be repaired: as soon as the budget allows, or if that takes a read-back, when one is due.
func (p *pace) undoDue(now time.Time) time.Time {
	if p.whole {
		return p.repairDue(now)
	}
	if lacks := 1 - p.budget.TokensAt(now); lacks > 0 {
		return now.Add(time.Duration(lacks * float64(time.Second) / repairRate))
	}
	return now
}

// repairDue is when the read-back after a change by someone else is due: at once after a quiet time, otherwise after a
// backoff that grows from RetryMin to RetryMax while changes go on, so that others cannot keep a target busy with it.
func (p *pace) repairDue(now time.Time) time.Time {
	if p.repairs == 0 {
		return now
	}
	return p.repaired.Add(backoff(p.opts.RetryMin, p.opts.RetryMax, p.repairs-1))
}

// repairing records that a read-back begins because of such a change.
func (p *pace) repairing(now time.Time) {
	if now.Sub(p.repaired) >= 2*p.opts.RetryMax {
		p.repairs = 0
	}
	p.repairs++
	p.repaired = now
}

// checkDrift reports whether everything has to be read back although there was no error.
func (p *pace) checkDrift(now time.Time) bool {
	return p.opts.MaxInterval > 0 && now.Sub(p.readBack) >= p.interval()
}

// interval is the time between two plans from a read-back: longer than MaxInterval if they take long, zero if there are none.
func (p *pace) interval() time.Duration {
	if p.opts.MaxInterval <= 0 {
		return 0
	}
	spared := time.Duration(p.opts.Spare) * min(p.took, LongestInterval)
	return max(p.opts.MaxInterval, min(spared, LongestInterval))
}

// backoff is the time to wait after the given number of earlier failures in a row: it doubles from least to most.
func backoff(least, most time.Duration, failures int) time.Duration {
	d := least
	for range failures {
		if d >= most/2 {
			return most
		}
		d *= 2
	}
	return min(d, most)
}

// jitter subtracts up to a quarter from d, so that many clients of one failed server do not return at once.
func jitter(d time.Duration) time.Duration {
	return d - time.Duration(rand.Int64N(int64(d)/4+1)) //nolint:gosec // spreads load, hides nothing
}
