package reconcile

import (
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// Round is what one plan handled, and how long its stages took. A plan without operations counts too.
type Round struct {
	Began        time.Time     // when planning began
	Waited       time.Duration // from the first wake to that; zero if nothing woke the loop
	Planned      time.Duration // from reading what changed to operations, without Ordered
	Ordered      time.Duration // to put the operations into transactions, in a safe order; zero if the backend does not measure it
	Sent         time.Duration // to encode and send the transactions; zero if the backend does not measure it
	Committed    time.Duration // the rest of the time until the last transaction was committed; zero if nothing was written
	Snapshots    int           // published since the round before; 0 if nothing woke the loop
	Changes      int           // sets, policies, load balancers and so on that may differ; 0 with Full, or if snapshots do not remember
	Operations   int
	Transactions int
	Full         bool // everything was read back
}

// keptRounds is how many rounds are remembered.
const keptRounds = 100

// Rounds returns the last rounds that wrote something, oldest first. Any goroutine may call it.
func (l *Loop) Rounds() []Round {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Round(nil), l.rounds...)
}

// wakes are the calls of Wake since the last round.
type wakes struct {
	first     time.Time // zero if there was none
	newest    intent.Revision
	snapshots int // with a later revision than the one before
}

// wakened records that the loop is woken for a snapshot, which is nil before the first.
func (l *Loop) wakened(s *intent.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.woken.first.IsZero() {
		l.woken.first = time.Now()
	}
	if s != nil && s.Revision() > l.woken.newest {
		l.woken.newest = s.Revision()
		l.woken.snapshots++
	}
}

// beginRound starts to measure a plan for which a number of things may differ. The time waited counts once, and so do snapshots.
func (l *Loop) beginRound(changes int) *Round {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Round{Began: time.Now(), Snapshots: l.woken.snapshots, Changes: changes}
	if !l.woken.first.IsZero() {
		r.Waited = r.Began.Sub(l.woken.first)
	}
	l.woken.first, l.woken.snapshots = time.Time{}, 0
	return r
}

// postpone has the next round count what one waited for and did not write, because its plan was cut.
func (l *Loop) postpone(r *Round) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := r.Began.Add(-r.Waited); r.Waited > 0 && (l.woken.first.IsZero() || first.Before(l.woken.first)) {
		l.woken.first = first
	}
	l.woken.snapshots += r.Snapshots
}

// endRound reports a plan that was made and, unless it is empty, written.
func (l *Loop) endRound(r *Round, p *backends.Plan) {
	r.Operations, r.Transactions, r.Full = len(p.Ops), p.Groups(), p.Full
	if !p.Empty() {
		l.mu.Lock()
		if len(l.rounds) >= 2*keptRounds {
			l.rounds = append([]Round(nil), l.rounds[len(l.rounds)-keptRounds:]...)
		}
		l.rounds = append(l.rounds, *r)
		l.mu.Unlock()
	}
	if o, ok := l.opts.Observer.(RoundObserver); ok {
		o.Round(l.opts.Target, r)
	}
}
