package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// errLost is the error of a backend that loses track of its target while it reads everything back.
var errLost = errors.New("backend lost track of the target during read-back")

// round brings the target to the newest snapshot and says what came of it.
func (l *Loop) round(ctx context.Context) mood {
	want := l.latest()
	if want == nil {
		return waiting
	}
	l.mu.Lock()
	calls := l.forced
	force := calls > l.spent
	l.status.Wanted = want.Revision()
	l.mu.Unlock()

	since := l.since
	if !l.settled {
		since = 0
	}
	m := lost
	if since != 0 {
		m = l.attempt(ctx, want, since, force)
	}
	// Drift shows only against a revision that the target agreed with, so what was new has gone first.
	if since == 0 || m == converged && l.checkDrift() {
		m = l.attempt(ctx, want, 0, force)
	}
	return l.finish(m, calls)
}

// checkDrift says whether everything has to be read back although nothing went wrong: at the drift interval, and when
// somebody else changed the target.
func (l *Loop) checkDrift() bool {
	now := time.Now()
	if l.changed() && !now.Before(l.pace.answer(now)) {
		l.pace.answered(now)
		return true
	}
	return l.pace.checkDrift(now)
}

// finish spends the calls of Force that were made before a round that converged.
func (l *Loop) finish(m mood, calls uint64) mood {
	if m == converged {
		l.mu.Lock()
		l.spent = calls
		l.mu.Unlock()
	}
	return m
}

// attempt plans once and applies what the plan says.
func (l *Loop) attempt(ctx context.Context, want *intent.Snapshot, since intent.Revision, force bool) mood {
	began := time.Now()
	p, err := l.backend.Plan(ctx, want, since)
	if err != nil {
		return l.fail(ctx, PhasePlan, err)
	}
	took := time.Since(began)
	if p.Resync {
		if since == 0 {
			return l.fail(ctx, PhasePlan, errLost)
		}
		l.settled = false
		l.opts.Log.Debug("reading back: the backend lost track of the target")
		return lost
	}
	if p.Full || since == 0 {
		l.pace.readBack = time.Now()
	}
	l.planned(p, took)
	if p.Full && l.settled && since == 0 && want.Revision() == l.since && p.Drift() > 0 {
		l.note(func(s *Status) { s.Drifts++ })
		l.opts.Observer.Drift(l.opts.Target, p.Drift())
		l.opts.Log.WithFields(logrus.Fields{"revision": want.Revision(), "ops": len(p.Ops)}).
			Warn("target was changed by someone else")
	}
	if err := l.opts.guard(p, l.Status().Owned); err != nil {
		if !force {
			return l.refuse(p, err)
		}
		l.opts.Log.WithFields(logrus.Fields{"deletes": p.Deletes(), "leaving": p.Leaving}).
			Warn("writing past the guard, as forced")
	}
	if !p.Empty() {
		if m := l.apply(ctx, p); m != converged {
			return m
		}
	}
	l.converge(p, want, since)
	return converged
}

// planned counts a plan and takes over what it read.
func (l *Loop) planned(p *backends.Plan, took time.Duration) {
	now := time.Now()
	l.note(func(s *Status) {
		s.LastPlan = now
		s.Plans++
		if p.Full {
			s.FullPlans++
			s.Owned = p.Owned
		}
	})
	l.opts.Observer.Planned(l.opts.Target, p, took)
}

func (l *Loop) apply(ctx context.Context, p *backends.Plan) mood {
	l.opts.Log.WithFields(logrus.Fields{"revision": p.Revision, "ops": len(p.Ops), "full": p.Full}).Debug("applying plan")
	began := time.Now()
	if err := l.backend.Apply(ctx, p); err != nil {
		return l.fail(ctx, PhaseApply, err)
	}
	took := time.Since(began)
	grown := 0
	for i := range p.Ops {
		switch p.Ops[i].Verb {
		case backends.Create:
			grown++
		case backends.Delete:
			grown--
		case backends.Update, backends.Mutate, backends.Reload:
		}
	}
	l.note(func(s *Status) {
		s.Applies++
		s.Ops += uint64(len(p.Ops))
		s.Owned = max(0, s.Owned+grown)
	})
	l.opts.Observer.Applied(l.opts.Target, p, took)
	l.opts.Log.WithFields(logrus.Fields{"revision": p.Revision, "ops": len(p.Ops), "full": p.Full, "took": took.String()}).
		Info("applied plan")
	return converged
}

// converge notes that the target agrees with want.
func (l *Loop) converge(p *backends.Plan, want *intent.Snapshot, since intent.Revision) {
	l.since, l.settled = want.Revision(), true
	var owned int
	l.note(func(s *Status) {
		s.Revision = want.Revision()
		s.Converged, s.Refused, s.Err = true, false, nil
		s.LastConverged = time.Now()
		s.Skips = mergeSkips(s.Skips, p, want, since)
		owned = s.Owned
	})
	l.opts.Observer.Converged(l.opts.Target, want.Revision(), owned)
}

// refuse notes that the guard held p back. What the backend knows of the target stays good, as nothing was written; but
// what only a read-back shows is forgotten by a plan of what changed, so after a read-back the next plan is one too.
func (l *Loop) refuse(p *backends.Plan, err error) mood {
	var owned int
	var again bool
	l.note(func(s *Status) {
		owned, again = s.Owned, s.Refused
		s.Converged, s.Refused, s.Err, s.LastError = false, true, err, time.Now()
		s.Refusals++
	})
	l.opts.Observer.Refused(l.opts.Target, p.Deletes(), owned)
	if !again {
		l.opts.Log.WithFields(logrus.Fields{
			"deletes": p.Deletes(), "owned": owned, "leaving": p.Leaving, "isolated": p.Isolated,
		}).Error("refused a plan that deletes or opens too much; nothing is written until it is forced or the sources recover")
	}
	if p.Full {
		l.settled = false
		return withheld
	}
	return refused
}

// fail notes an error, unless the loop is being stopped. Whatever it was, the next plan reads everything back.
func (l *Loop) fail(ctx context.Context, phase Phase, err error) mood {
	l.settled = false
	if ctx.Err() != nil {
		return failed
	}
	err = fmt.Errorf("%s %s: %w", phase, l.opts.Target, err)
	l.note(func(s *Status) {
		s.Converged, s.Refused, s.Err, s.LastError = false, false, err, time.Now()
		s.Failures++
	})
	l.opts.Observer.Failed(l.opts.Target, phase, err)
	l.opts.Log.WithError(err).Warn("target is out of step, trying again")
	if errors.Is(err, backends.ErrUnreachable) {
		return cutOff
	}
	return failed
}
