package reconcile

import (
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// forceFor is the maximum time for which Force lets every plan pass the guard.
const forceFor = 5 * time.Minute

// Suspicious lists the objects that a plan for a snapshot, from a read-back, removes from the target, if they are too many to have been
// deleted while netloom was not running, or if part of the source cannot be read; nil if they are few. Those of kinds that
// have not been listed are always among them.
func (o Options) Suspicious(p *backends.Plan, want *intent.Snapshot) []object.Ref {
	o = o.withDefaults()
	var lost, unlisted []object.Ref
	count := map[string]int{}
	for _, ref := range p.Lost {
		if o.Known == nil || !o.Known(ref) {
			lost = append(lost, ref)
			count[ref.Kind]++
			if o.Unlisted != nil && o.Unlisted(ref.Kind) {
				unlisted = append(unlisted, ref)
			}
		}
	}
	if o.Unreadable != nil && o.Unreadable() {
		return lost
	}
	for kind, n := range count {
		owned := p.Objects[kind]
		if float64(n) <= o.MaxDeleteFraction*float64(owned) {
			continue
		}
		if owned >= o.MinDeleteGuard || object.IsPolicy(kind) && !hasPolicy(want, kind) { // the last ones may be what isolates
			return lost
		}
	}
	return unlisted
}

// hasPolicy reports whether a snapshot has a policy of a kind.
func hasPolicy(s *intent.Snapshot, kind string) bool {
	for p := range s.Policies() {
		if p.Origin.Kind == kind {
			return true
		}
	}
	return false
}

// guard checks the first plan of a run. If it would remove too much, guard makes the backend keep it and returns false, because a new plan
// is needed.
func (l *Loop) guard(p *backends.Plan, want *intent.Snapshot) bool {
	keeper, ok := l.backend.(backends.Keeper)
	if l.judged || !ok || !p.Full {
		return true
	}
	lost := l.opts.Suspicious(p, want)
	if len(lost) == 0 {
		return true
	}
	if l.isForced(time.Now()) {
		for _, o := range lost {
			l.opts.Log.WithField("object", o.String()).Warn("the object is missing from the source; its rows are removed because of force")
		}
		return true
	}
	l.judged = true
	l.keep(keeper, lost)
	l.opts.Log.WithField("objects", len(lost)).
		Error("the target has rows of objects that are missing from the source; they are kept until their removal is approved")
	return false
}

// keep has the backend leave objects as they are.
func (l *Loop) keep(keeper backends.Keeper, objects []object.Ref) {
	l.note(func(s *Status) { s.Kept = objects })
	keeper.Keep(objects)
}

// kept records which of the kept objects a plan still finds missing, and reports whether there are any.
func (l *Loop) kept(p *backends.Plan) bool {
	keeper, ok := l.backend.(backends.Keeper)
	if !ok || !p.Full {
		return false
	}
	l.note(func(s *Status) {
		if len(p.Kept) != len(s.Kept) {
			l.opts.Log.WithFields(logrus.Fields{"before": len(s.Kept), "now": len(p.Kept)}).Info("some kept objects are no longer missing")
			s.Kept = p.Kept
			keeper.Keep(p.Kept)
		}
	})
	return len(p.Kept) > 0
}

// Release stops keeping objects: their rows are removed, unless the objects came back.
func (l *Loop) Release(objects []object.Ref) {
	l.mu.Lock()
	for _, o := range objects {
		if slices.Contains(l.status.Kept, o) {
			l.released[o] = true
		}
	}
	some := len(l.released) > 0
	l.mu.Unlock()
	if some {
		ring(l.release)
	}
}

// releaseKept makes the backend stop keeping objects that were released since the last round.
func (l *Loop) releaseKept() {
	keeper, ok := l.backend.(backends.Keeper)
	l.mu.Lock()
	some := len(l.released) > 0
	stay := slices.DeleteFunc(slices.Clone(l.status.Kept), func(o object.Ref) bool { return l.released[o] })
	clear(l.released)
	l.mu.Unlock()
	if ok && some {
		l.keep(keeper, stay)
		l.stale = backends.ReadBackKept
	}
}

// isForced reports whether Force was called, not long ago, and the target has not converged since.
func (l *Loop) isForced(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.forced)
}
