package reconcile

import (
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Status is the state of a target. It is a copy: nothing in it changes later.
type Status struct {
	Target   string
	Wanted   intent.Revision // the newest snapshot that was planned
	Revision intent.Revision // the snapshot that the target was last in sync with
	// Converged means that the last round succeeded, that changes by others are seen, and that none is left to repair: as far as netloom
	// knows, the target is in sync with Revision.
	Converged bool
	Err       error // why the last round failed, or Disturbed, or Blind; nil if Converged
	// Disturbed is what others changed and nothing has repaired yet; nil if there is nothing. It is read-only.
	Disturbed *Disturbance
	// Blind is why changes by others cannot be seen, see backends.Viewer; nil if they can. Then the target may differ from Revision.
	Blind error

	LastPlan      time.Time // when the last plan was made; zero before the first
	LastConverged time.Time
	LastError     time.Time
	NextRetry     time.Time // zero unless the last round failed

	Plans, FullPlans, Applies, Ops uint64
	Failures, Drifts               uint64

	// Interval is the time between two plans from a read-back, see Options.Spare; zero before the first and if there are no others.
	Interval time.Duration

	Owned int // rows owned in the target, by the last read-back and the writes since
	// Kept are the objects that were missing from the source when the run began and whose rows are kept, sorted. They are
	// never changed in place.
	Kept  []object.Ref
	Skips []backends.Skip // what the target cannot express; it is denied there
}

// Synced reports whether the target has been in sync with a snapshot since the loop began.
func (s *Status) Synced() bool { return !s.LastConverged.IsZero() }

// Denied returns the skips of intents that are not in effect.
func (s *Status) Denied() []backends.Skip { return denied(s.Skips) }

func denied(skips []backends.Skip) []backends.Skip {
	return slices.DeleteFunc(slices.Clone(skips), func(s backends.Skip) bool { return s.InEffect })
}

// shownSkips is how many skips a line of the log names.
const shownSkips = 3

// tellSkips logs intents that the target cannot express, when they change.
func (l *Loop) tellSkips(before, now []backends.Skip) {
	before, now = denied(before), denied(now)
	known := make(map[backends.Skip]bool, len(before))
	for _, s := range before {
		known[s] = true
	}
	var fresh []string
	for _, s := range now {
		if !known[s] {
			fresh = append(fresh, s.Intent+": "+s.Reason)
		}
	}
	switch {
	case len(fresh) > 0:
		l.opts.Log.WithFields(logrus.Fields{"skips": len(now), "new": len(fresh), "first": fresh[:min(len(fresh), shownSkips)]}).
			Warn("the target does not do what some intents ask for; what they allow is denied")
	case len(before) > 0 && len(now) == 0:
		l.opts.Log.Info("the target does what all intents ask for again")
	}
}

// mergeSkips updates the known skips with those of a plan for want. A plan from a read-back knows all of them; an
// incremental one only those of the intents it looked at.
func mergeSkips(known []backends.Skip, p *backends.Plan, want, was *intent.Snapshot) []backends.Skip {
	if p.Full || was == nil || len(known) == 0 {
		return p.Skips
	}
	changes := want.ChangesFrom(was)
	looked := make(map[string]bool)
	for i := range changes {
		for _, id := range changes[i].Sets {
			looked[string(id)] = true
		}
		for _, id := range changes[i].Policies {
			looked[string(id)] = true
		}
		for _, id := range changes[i].LoadBalancers {
			looked[string(id)] = true
		}
		for _, id := range changes[i].DeviceIntents {
			looked[string(id)] = true
		}
	}
	for _, s := range p.Skips {
		looked[s.Intent] = true
	}
	var merged []backends.Skip
	for _, s := range known {
		if !looked[s.Intent] {
			merged = append(merged, s)
		}
	}
	return append(merged, p.Skips...)
}
