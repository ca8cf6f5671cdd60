package reconcile

import (
	"time"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// Phase is the step of a round that failed.
type Phase string

// The steps of a round.
const (
	PhasePlan   Phase = "plan"
	PhaseApply  Phase = "apply"
	PhaseRepair Phase = "repair" // of what others changed
)

// Observer follows the progress of loops. Its methods are called from the goroutine of each loop, must be safe for
// concurrent use, must not block, and must not change or keep the plan.
type Observer interface {
	// Planned: a plan was made. It may not be applied.
	Planned(target string, p *backends.Plan, took time.Duration)
	// Applied: a plan with ops was written completely.
	Applied(target string, p *backends.Plan, took time.Duration)
	// Failed: the step returned an error, and a plan from a read-back follows after a pause.
	Failed(target string, phase Phase, err error)
	// Drift: the target was in sync with this revision before, and needs that many ops to be in sync again.
	Drift(target string, ops int)
	// Disturbed: others changed the target, and this is not repaired yet or continues; nil once it has ended.
	Disturbed(target string, d *Disturbance)
	// Blind: changes that others make to the target cannot be seen, because of why; nil once they can.
	Blind(target string, why error)
	// Converged: the target is in sync with the revision, unless it is disturbed, and has that many owned rows. Called after every
	// successful round, whether it wrote or not.
	Converged(target string, rev intent.Revision, owned int)
}

// RoundObserver is an Observer that also follows rounds as a whole.
type RoundObserver interface {
	// Round: a plan was made and, if it has ops, written completely. The round must not be kept.
	Round(target string, r *Round)
}

// Observers calls each of several observers, in order.
type Observers []Observer

// Planned calls each.
func (os Observers) Planned(target string, p *backends.Plan, took time.Duration) {
	for _, o := range os {
		o.Planned(target, p, took)
	}
}

// Applied calls each.
func (os Observers) Applied(target string, p *backends.Plan, took time.Duration) {
	for _, o := range os {
		o.Applied(target, p, took)
	}
}

// Round calls each that follows rounds.
func (os Observers) Round(target string, r *Round) {
	for _, o := range os {
		if o, ok := o.(RoundObserver); ok {
			o.Round(target, r)
		}
	}
}

// Failed calls each.
func (os Observers) Failed(target string, phase Phase, err error) {
	for _, o := range os {
		o.Failed(target, phase, err)
	}
}

// Drift calls each.
func (os Observers) Drift(target string, ops int) {
	for _, o := range os {
		o.Drift(target, ops)
	}
}

// Disturbed calls each.
func (os Observers) Disturbed(target string, d *Disturbance) {
	for _, o := range os {
		o.Disturbed(target, d)
	}
}

// Blind calls each.
func (os Observers) Blind(target string, why error) {
	for _, o := range os {
		o.Blind(target, why)
	}
}

// Converged calls each.
func (os Observers) Converged(target string, rev intent.Revision, owned int) {
	for _, o := range os {
		o.Converged(target, rev, owned)
	}
}
