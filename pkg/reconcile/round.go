package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// errLost is the error if a backend loses track of its target while it reads everything back.
var errLost = errors.New("backend lost track of the target during read-back")

// round brings the target to the newest snapshot, or if that takes too many operations, to one on the way to it, and returns the outcome.
func (l *Loop) round(ctx context.Context) outcome {
	newest := l.latest()
	if newest == nil {
		return waiting
	}
	l.note(func(s *Status) { s.Wanted = newest.Revision() })
	l.releaseKept()

	readBack := l.stale
	switch {
	case readBack != "":
	case l.keepsRows():
		readBack = backends.ReadBackKept
	case l.reached.Revision() == 0: // which asks a backend for a read-back
		readBack = backends.ReadBackStart
	}
	m := lost
	if readBack == "" {
		// Changes by others are repaired first, because the next plan assumes that the target is as the last one left it.
		var why backends.ReadBack
		if m, why = l.undo(ctx); m == failed || m == unreachable {
			return m
		}
		m = l.attempt(ctx, l.step(newest), "")
		// Drift shows only against a revision that the target was in sync with, so new changes are written first.
		if m == converged {
			if why == "" && l.reached.Revision() < newest.Revision() {
				return onward
			}
			readBack = cmp.Or(why, l.checkDrift())
		}
	}
	if readBack == backends.ReadBackKept && l.stale == "" && l.changed() {
		if done, m := l.undoKept(ctx); done {
			return m
		}
	}
	if readBack != "" {
		m = l.attempt(ctx, goal{Snapshot: newest}, readBack)
	}
	if m == again {
		m = l.attempt(ctx, goal{Snapshot: newest}, backends.ReadBackKept)
	}
	return m
}

// checkDrift returns why everything has to be read back although there was no error: at the drift interval. Otherwise it
// returns "".
func (l *Loop) checkDrift() backends.ReadBack {
	if l.pace.checkDrift(time.Now()) {
		return backends.ReadBackInterval
	}
	return ""
}

// keepsRows reports whether the backend keeps rows of objects that are missing, for which it has to read back.
func (l *Loop) keepsRows() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.status.Kept) > 0
}

// goal is what one plan is to reach.
type goal struct {
	*intent.Snapshot

	changes int // how many things may differ; 0 if everything is read back
}

// step returns the goal of the next plan from changes.
func (l *Loop) step(newest *intent.Snapshot) goal {
	to, changes := l.backlog.take(l.reached, newest)
	return goal{to, changes}
}

// attempt plans once and applies the plan: from changes, or for a reason from a read-back.
func (l *Loop) attempt(ctx context.Context, to goal, readBack backends.ReadBack) outcome {
	want, r := to.Snapshot, l.beginRound(to.changes)
	var since intent.Revision
	if readBack == "" {
		since = l.reached.Revision()
	}
	stages := &stopwatch{}
	p, err := l.backend.Plan(backends.WithMarks(ctx, stages.pass), want, since)
	if err != nil {
		l.pace.wasted = time.Since(r.Began)
		return l.fail(ctx, PhasePlan, err)
	}
	if readBack == "" && !p.Full && len(p.Ops) > maxOps {
		if to := l.backlog.cut(l.reached, want); to != nil {
			l.postpone(r)
			return l.attempt(ctx, goal{to, changesBetween(l.reached, to)}, "")
		}
	}
	now := time.Now()
	took := now.Sub(r.Began)
	r.Ordered = stages.ordered(now)
	r.Planned = took - r.Ordered
	if p.Resync {
		if since == 0 {
			return l.fail(ctx, PhasePlan, errLost)
		}
		l.stale = backends.ReadBackLost
		l.opts.Log.Debug("reading back: the backend lost track of the target")
		return lost
	}
	if p.Full || since == 0 {
		l.pace.readBack = time.Now()
		l.spare(took)
		p.Interval = l.pace.interval()
	}
	if p.Full && since == 0 {
		p.ReadBack = readBack
	}
	l.planned(p, took)
	if !l.guard(p, want) {
		return again
	}
	l.pace.keeping = l.kept(p)
	if p.Full && l.stale == "" && since == 0 && want.Revision() == l.reached.Revision() && p.Drift() > 0 {
		l.drifted(p)
	}
	if !p.Empty() {
		began := stages.apply()
		if m := l.apply(backends.WithMarks(ctx, stages.pass), p); m != converged {
			return m
		}
		r.Sent, r.Committed = stages.sent, time.Since(began)-stages.sent
		l.pace.wrote(r)
	}
	if readBack != "" {
		l.record(ctx)
	}
	l.endRound(r, p)
	l.converge(p, want)
	return converged
}

// record has the target keep the settings, if it can. The next read-back tries again; nothing depends on it but other programs.
func (l *Loop) record(ctx context.Context) {
	recorder, ok := l.backend.(backends.Recorder)
	if !ok || l.opts.Settings == nil {
		return
	}
	if err := recorder.Record(ctx, l.opts.Settings); err != nil && ctx.Err() == nil {
		l.opts.Log.WithError(err).Warn("the settings were not recorded in the target: netloom drift and plan cannot compare theirs")
	}
}

// spare adapts the interval to how long a read-back took, and says so when that begins and ends.
func (l *Loop) spare(took time.Duration) {
	before := l.pace.interval()
	l.pace.took = took
	now, least := l.pace.interval(), l.opts.MaxInterval
	l.note(func(s *Status) { s.Interval = now })
	log := l.opts.Log.WithFields(logrus.Fields{"took": took.Round(time.Millisecond).String(), "interval": now.Round(time.Millisecond).String()})
	switch {
	case now > 2*least && before <= 2*least:
		log.Warn("reading the target back takes long: it is read back less often")
	case now <= 2*least && before > 2*least:
		log.Info("the target is read back as often as before")
	}
}

// planned counts a plan and records what it read.
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

func (l *Loop) apply(ctx context.Context, p *backends.Plan) outcome {
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
	l.opts.Log.WithFields(logrus.Fields{
		"revision": p.Revision, "ops": len(p.Ops), "full": p.Full, "took": took.String(), "skips": len(p.Skips),
	}).Info("applied plan")
	return converged
}

// look records why changes of the target cannot be seen; nil if they can.
func (l *Loop) look(why error) {
	was := l.blind
	l.blind = why
	if why != nil {
		why = fmt.Errorf("changes of %s by others cannot be seen: %w", l.opts.Target, why)
	}
	l.note(func(s *Status) { s.Blind = why })
	switch {
	case why != nil && was == nil:
		l.opts.Log.WithError(l.blind).Warn("changes of the target by others cannot be seen; it counts as out of sync until they can")
	case why == nil && was != nil:
		l.opts.Log.Info("changes of the target by others are seen again")
	default:
		return
	}
	l.opts.Observer.Blind(l.opts.Target, why)
}

// converge records that the target is in sync with want, except for what others changed.
func (l *Loop) converge(p *backends.Plan, want *intent.Snapshot) {
	was := l.reached
	l.backlog.reach(want)
	l.reached, l.stale, l.judged = want, "", true
	if l.disturbance != nil && !l.changed() {
		l.calm()
	}
	if l.viewer != nil {
		l.look(l.viewer.Blind())
	}
	var owned int
	var before, now []backends.Skip
	l.note(func(s *Status) {
		l.forced = time.Time{}
		s.Revision = want.Revision()
		switch {
		case s.Disturbed != nil:
			s.Err = s.Disturbed.of(l.opts.Target)
		case s.Blind != nil:
			s.Converged, s.Err, s.LastError = false, s.Blind, time.Now()
		default:
			s.Converged, s.Err = true, nil
		}
		s.LastConverged = time.Now()
		before = s.Skips
		s.Skips = mergeSkips(s.Skips, p, want, was)
		now, owned = s.Skips, s.Owned
	})
	l.tellSkips(before, now)
	l.opts.Observer.Converged(l.opts.Target, want.Revision(), owned)
}

// fail records an error, unless the loop is being stopped. Whatever it was, the next plan reads everything back.
func (l *Loop) fail(ctx context.Context, phase Phase, err error) outcome {
	l.stale = backends.ReadBackError
	if ctx.Err() != nil {
		return failed
	}
	err = fmt.Errorf("%s %s: %w", phase, l.opts.Target, err)
	l.note(func(s *Status) {
		s.Converged, s.Err, s.LastError = false, err, time.Now()
		s.Failures++
	})
	l.opts.Observer.Failed(l.opts.Target, phase, err)
	l.opts.Log.WithError(err).Warn("target is out of sync, retrying")
	if errors.Is(err, backends.ErrUnreachable) {
		return unreachable
	}
	return failed
}
