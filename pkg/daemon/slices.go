package daemon

import (
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

// sliceObserver makes the pipeline continue with waiting changes as soon as a target has everything that it was given.
type sliceObserver struct {
	reconcile.Observers // nil: events that are not overridden are ignored

	nudge func()
}

// Converged implements reconcile.Observer.
func (o *sliceObserver) Converged(string, intent.Revision, int) { o.nudge() }

// follows reports whether no target is busy with an older revision. A failing or idle target does not count.
func (d *Daemon) follows(newest intent.Revision) bool {
	if d.election != nil && !d.election.Leading() {
		return true
	}
	for _, t := range d.targets {
		if s := t.loop.Status(); s.Synced() && s.Err == nil && s.Revision < newest {
			return false
		}
	}
	return true
}
