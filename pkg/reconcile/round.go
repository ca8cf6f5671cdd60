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
	l.note(func(s *Status) { s.Wanted = want.Revision() })
	l.release()

	since := l.since
	if !l.settled || l.holds() {
		since = 0
	}
	m := lost
	if since != 0 {
		m = l.attempt(ctx, want, since)
	}
	// Drift shows only against a revision that the target agreed with, so what was new has gone first.
	if since == 0 || m == converged && l.checkDrift() {
		m = l.attempt(ctx, want, 0)
	}
	if m == again {
		m = l.attempt(ctx, want, 0)
	}
	return m
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

// holds says whether the backend keeps rows of objects that are missing. It has to read back for that.
func (l *Loop) holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.status.Kept) > 0
}

// attempt plans once and applies what the plan says.
func (l *Loop) attempt(ctx context.Context, want *intent.Snapshot, since intent.Revision) mood {
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
	if !l.guard(p) {
		return again
	}
	l.pace.held = l.kept(p)
	if p.Full && l.settled && since == 0 && want.Revision() == l.since && p.Drift() > 0 {
		l.note(func(s *Status) { s.Drifts++ })
		l.opts.Observer.Drift(l.opts.Target, p.Drift())
		l.opts.Log.WithFields(logrus.Fields{"revision": want.Revision(), "ops": len(p.Ops)}).
			Warn("target was changed by someone else")
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
	l.since, l.settled, l.judged = want.Revision(), true, true
	var owned int
	l.note(func(s *Status) {
		l.forced = time.Time{}
		s.Revision = want.Revision()
		s.Converged, s.Err = true, nil
		s.LastConverged = time.Now()
		s.Skips = mergeSkips(s.Skips, p, want, since)
		owned = s.Owned
	})
	l.opts.Observer.Converged(l.opts.Target, want.Revision(), owned)
}

// fail notes an error, unless the loop is being stopped. Whatever it was, the next plan reads everything back.
func (l *Loop) fail(ctx context.Context, phase Phase, err error) mood {
	l.settled = false
	if ctx.Err() != nil {
		return failed
	}
	err = fmt.Errorf("%s %s: %w", phase, l.opts.Target, err)
	l.note(func(s *Status) {
		s.Converged, s.Err, s.LastError = false, err, time.Now()
		s.Failures++
	})
	l.opts.Observer.Failed(l.opts.Target, phase, err)
	l.opts.Log.WithError(err).Warn("target is out of step, trying again")
	if errors.Is(err, backends.ErrUnreachable) {
		return cutOff
	}
	return failed
}
