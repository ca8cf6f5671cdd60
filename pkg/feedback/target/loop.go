package target

import (
	"errors"
	"time"

	"github.com/netloom/netloom/pkg/cause"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/reconcile"
)

// Of returns the state of a target by the status of its loop. What the loop did before began does not count: another instance may have
// written to the target since. It does not set Stale.
func Of(s *reconcile.Status, began time.Time) state.Target {
	var out state.Target
	if s.Synced() && !s.LastConverged.Before(began) {
		out.Revision, out.Skips = s.Revision, s.Skips
	}
	if !s.Converged {
		out.Trouble = cause.Plain(errors.Unwrap(s.Err))
	}
	return out
}
