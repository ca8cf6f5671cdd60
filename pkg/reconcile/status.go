package reconcile

import (
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Status is the state of a target. It is a copy: nothing in it changes later.
type Status struct {
	Target   string
	Wanted   intent.Revision // the newest snapshot that was planned
	Revision intent.Revision // the snapshot that the target was last in sync with
	// Converged means that the last round succeeded and no change by others is left to repair: as far as netloom knows, the target
	// is in sync with Revision.
	Converged bool
	Err       error // why the last round failed, or Disturbed; nil if Converged
	// Disturbed is what others changed and nothing has repaired yet; nil if there is nothing. It is read-only.
	Disturbed *Disturbance

	LastPlan      time.Time // when the last plan was made; zero before the first
	LastConverged time.Time
	LastError     time.Time
	NextRetry     time.Time // zero unless the last round failed

	Plans, FullPlans, Applies, Ops uint64
	Failures, Drifts               uint64

	Owned int // rows owned in the target, by the last read-back and the writes since
	// Kept are the objects that were missing from the source when the run began and whose rows are kept, sorted. They are
	// never changed in place.
	Kept  []object.Ref
	Skips []backends.Skip // what the target cannot express; it is denied there
}

// Synced reports whether the target has been in sync with a snapshot since the loop began.
func (s *Status) Synced() bool { return !s.LastConverged.IsZero() }

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
