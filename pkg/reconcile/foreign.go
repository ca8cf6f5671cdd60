package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
)

// How often changes by others are repaired one by one: repairRate times a second, and repairBurst times at once. A target that is
// changed more often, or that has not been free of such changes for contestAfter, is contested, until it has been neither for
// contestHold.
const (
	repairRate   = 10
	repairBurst  = 5
	contestAfter = time.Second
	contestHold  = 10 * time.Second
)

// Disturbance is what others did to a target that is not in sync because of it.
type Disturbance struct {
	Since   time.Time
	Changed *backends.Foreign // what was known when the disturbance, or the contest, began
	// Contested means that the target is changed faster than it is repaired: even if it is intact at this moment, it will not be at the
	// next.
	Contested bool
	Writers   string // who is connected to a contested target, as far as the target tells
}

// Error describes d.
func (d *Disturbance) Error() string {
	if !d.Contested {
		return "changed by someone else: " + d.Changed.String()
	}
	text := "contested: someone else changes " + d.Changed.String() + " faster than it is repaired"
	if d.Writers != "" {
		text += "; connected: " + d.Writers
	}
	return text
}

// of returns the error of a target.
func (d *Disturbance) of(target string) error { return fmt.Errorf("%s is %w", target, d) }

// undo repairs what others changed in the target since it was last in sync, if there are such changes and a repair is due. It returns lost
// with a reason if this requires reading everything back.
func (l *Loop) undo(ctx context.Context) (outcome, backends.ReadBack) {
	if c, ok := l.backend.(backends.Confirmer); ok {
		if err := c.Confirm(ctx); err != nil {
			return l.fail(ctx, PhaseRepair, err), ""
		}
	}
	if !l.changed() {
		l.calm()
		return converged, ""
	}
	l.disturb(ctx, false)
	now := time.Now()
	if !l.pace.mayRepair(now) {
		l.disturb(ctx, true)
		return converged, ""
	}
	p, err := l.watcher.Repair(ctx)
	if err != nil {
		return l.fail(ctx, PhaseRepair, err), ""
	}
	if l.pace.whole = p.Resync; p.Resync {
		if now.Before(l.pace.repairDue(now)) {
			l.disturb(ctx, true)
			return converged, ""
		}
		l.pace.repairing(now)
		return lost, backends.ReadBackForeignChange
	}
	l.pace.budget.AllowN(now, 1)
	if p.Empty() {
		return converged, ""
	}
	l.drifted(p)
	return l.apply(ctx, p), ""
}

// undoKept is undo while rows are kept. It reports whether that is all there is to do in this round: the next read-back, which every other
// change takes while rows are kept, comes when it is due.
func (l *Loop) undoKept(ctx context.Context) (bool, outcome) {
	m, why := l.undo(ctx)
	switch {
	case m == failed || m == unreachable:
		return true, m
	case why != "" || l.pace.readBackDue(time.Now()):
		return false, m
	}
	l.pace.woken = l.pace.owed
	l.converge(&backends.Plan{Revision: l.reached.Revision()}, l.reached)
	return true, converged
}

// drifted counts a plan that reverts changes by others.
func (l *Loop) drifted(p *backends.Plan) {
	l.note(func(s *Status) { s.Drifts++ })
	l.opts.Observer.Drift(l.opts.Target, p.Drift())
	log := l.opts.Log.WithFields(logrus.Fields{"revision": p.Revision, "ops": len(p.Ops)})
	if d := l.disturbance; d == nil {
		log.Warn("target was changed by someone else")
	} else if !d.Contested {
		log.WithField("changed", d.Changed.String()).Warn("target was changed by someone else")
	}
}

// disturb records that others changed the target and nothing has repaired that yet, or that they contest it.
func (l *Loop) disturb(ctx context.Context, contest bool) {
	now := time.Now()
	d := l.disturbance
	contest = contest || d != nil && !l.pace.busy.IsZero() && now.Sub(l.pace.busy) >= contestAfter
	if l.pace.busy.IsZero() {
		l.pace.busy = now
	}
	if contest {
		l.pace.contested = now
	}
	if d != nil && (d.Contested || !contest) {
		return
	}
	next := &Disturbance{Since: now, Changed: l.watcher.Foreign(), Contested: contest}
	if d != nil {
		next.Since = d.Since
	}
	if next.Changed == nil {
		return
	}
	if contest {
		next.Writers = l.watcher.Writers(ctx)
		l.opts.Log.WithFields(logrus.Fields{"changed": next.Changed.String(), "connected": next.Writers}).
			Error("target is contested: someone else changes it faster than it is repaired")
	}
	l.disturbed(next)
}

// calm records that no changes by others are left to repair. A contested target stays contested for a while.
func (l *Loop) calm() {
	l.pace.busy = time.Time{}
	d := l.disturbance
	if d == nil || d.Contested && time.Since(l.pace.contested) < contestHold {
		return
	}
	if d.Contested {
		l.opts.Log.WithField("for", time.Since(d.Since).Round(time.Millisecond).String()).Info("target is no longer contested")
	}
	l.pace.contested = time.Time{}
	l.disturbed(nil)
}

// disturbed publishes a disturbance, nil for its end.
func (l *Loop) disturbed(d *Disturbance) {
	l.disturbance = d
	l.note(func(s *Status) {
		s.Disturbed = d
		if d != nil {
			s.Converged, s.Err, s.LastError = false, d.of(l.opts.Target), time.Now()
		}
	})
	l.opts.Observer.Disturbed(l.opts.Target, d)
}
