package reconcile

import (
	"math/rand/v2"
	"time"
)

// mood is what the last round came to; it decides what the next one waits for.
type mood uint8

const (
	waiting   mood = iota // for the first snapshot
	converged             // for a wake or the drift interval
	again                 // for nothing: the guard asks for another plan
	failed                // for the end of the pause
	cutOff                // likewise, or for the backend to find a way to the target
	lost                  // for nothing: the backend asks for read-back
)

// pace decides when the next round is due. It holds times, never timers, so that it can be asked at any moment.
type pace struct {
	opts     *Options
	mood     mood
	woken    bool // somebody called Wake since the last round began
	nudged   bool // the backend woke the loop since the last round began
	urged    bool // somebody called Release since the last round began
	held     bool // rounds read back, because rows are kept
	began    time.Time
	ended    time.Time
	readBack time.Time // when everything was read back last
	failures int       // in a row
	pause    time.Duration

	changed bool      // somebody else changed the target, and no read-back has begun since
	answers int       // read-backs because of that, in a row
	last    time.Time // when the last of them began
}

// begin notes that a round starts, which will see everything that happened until now.
func (p *pace) begin() {
	if p.mood == cutOff && p.nudged {
		p.failures = 0 // a connection that came back is a new start
	}
	p.woken, p.nudged, p.urged, p.began = false, false, false, time.Now()
}

// end notes how a round that ended now went.
func (p *pace) end(m mood, now time.Time) {
	p.mood, p.ended = m, now
	switch m {
	case failed, cutOff:
		p.pause = jitter(backoff(p.opts.RetryMin, p.opts.RetryMax, p.failures))
		p.failures++
	case waiting, converged, again, lost:
		p.failures = 0
	}
}

// due is when the next round starts as things stand. It is false when only a wake can start one.
//
// A wake does not cut the pause after an error short, or every event would hammer a target that is down. Nor does a
// nudge, which comes for every logical port too, unless the target could not be reached: then it says that the connection
// came back, and the pause goes down to RetryMin.
func (p *pace) due() (time.Time, bool) {
	switch p.mood {
	case lost, again:
		return p.ended, true
	case failed, cutOff:
		pause := p.pause
		if p.mood == cutOff && p.nudged {
			pause = min(pause, p.opts.RetryMin)
		}
		return p.ended.Add(pause), true
	case waiting:
		return p.ended, p.woken || p.urged
	case converged:
		due, ok := p.next(max(p.opts.MinInterval, p.rest()), p.readBack)
		if !p.changed {
			return due, ok
		}
		answer := p.answer(p.ended)
		if earliest := p.ended.Add(p.opts.MinInterval); answer.Before(earliest) {
			answer = earliest
		}
		if !ok || answer.Before(due) {
			due = answer
		}
		return due, true
	default:
		return time.Time{}, false
	}
}

// rest is the least time between rounds that read everything back: as long as the last one took, so that the target has
// half of the time for others.
func (p *pace) rest() time.Duration {
	if !p.held || p.urged {
		return 0
	}
	return p.ended.Sub(p.began)
}

// next is when a round is due that nothing went wrong before: gap after the last one when somebody asked for it, else
// at the drift interval, counted from since.
func (p *pace) next(gap time.Duration, since time.Time) (time.Time, bool) {
	earliest := p.ended.Add(gap)
	if p.woken || p.nudged || p.urged {
		return earliest, true
	}
	drift := since.Add(p.opts.MaxInterval)
	if drift.Before(earliest) {
		drift = earliest
	}
	return drift, p.opts.MaxInterval > 0
}

// answer is when a change by somebody else is answered with a read-back: at once after a quiet time, otherwise after a
// pause that grows from RetryMin to RetryMax while changes go on, so that nobody can make a target do nothing else.
func (p *pace) answer(now time.Time) time.Time {
	if p.answers == 0 {
		return now
	}
	return p.last.Add(backoff(p.opts.RetryMin, p.opts.RetryMax, p.answers-1))
}

// answered notes that a read-back begins because of such a change.
func (p *pace) answered(now time.Time) {
	if now.Sub(p.last) >= 2*p.opts.RetryMax {
		p.answers = 0
	}
	p.answers++
	p.last = now
	p.changed = false
}

// checkDrift says whether everything has to be read back although nothing went wrong.
func (p *pace) checkDrift(now time.Time) bool {
	return p.opts.MaxInterval > 0 && now.Sub(p.readBack) >= p.opts.MaxInterval
}

// backoff is the pause after the given number of earlier failures in a row: it doubles from least to most.
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

// jitter takes up to a quarter off d, so that many clients of one failed server do not come back as one.
func jitter(d time.Duration) time.Duration {
	return d - time.Duration(rand.Int64N(int64(d)/4+1)) //nolint:gosec // spreads load, hides nothing
}
