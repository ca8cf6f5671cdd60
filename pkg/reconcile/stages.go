package reconcile

import (
	"time"

	"github.com/netloom/netloom/backends"
)

// Round is what one plan handled, and how long its stages took. A plan without operations counts too.
type Round struct {
	Began        time.Time     // when planning began
	Waited       time.Duration // from the first wake to that; zero if nothing woke the loop
	Planned      time.Duration // from reading what changed to operations in order
	Applied      time.Duration // from the first transaction sent to the last one committed; zero if nothing was written
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

// wakened records when the loop was woken first since the last round.
func (l *Loop) wakened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.woken.IsZero() {
		l.woken = time.Now()
	}
}

// beginRound starts to measure a plan for which a number of things may differ. The time waited counts once.
func (l *Loop) beginRound(changes int) *Round {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Round{Began: time.Now(), Changes: changes}
	if !l.woken.IsZero() {
		r.Waited = r.Began.Sub(l.woken)
		l.woken = time.Time{}
	}
	return r
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
