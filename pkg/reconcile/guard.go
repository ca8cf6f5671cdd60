package reconcile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/netloom/netloom/backends"
)

// RefusedError says that a plan was held back because it would have deleted or opened too much.
type RefusedError struct {
	Target   string
	Deletes  int // of owned rows
	Owned    int
	Leaving  int // isolated endpoints that would have been open
	Isolated int
	Fraction float64 // the largest share of either that is let through
}

// Error says how much of what would have gone, and what lets it through.
func (e *RefusedError) Error() string {
	var much []string
	if exceeds(e.Deletes, e.Owned, e.Fraction) {
		much = append(much, fmt.Sprintf("to delete %d of %d owned rows", e.Deletes, e.Owned))
	}
	if exceeds(e.Leaving, e.Isolated, e.Fraction) {
		much = append(much, fmt.Sprintf("to open %d of %d isolated endpoints", e.Leaving, e.Isolated))
	}
	return fmt.Sprintf("refused %s of %s: more than %g of them; check that the sources are complete, then force it",
		strings.Join(much, " and "), e.Target, e.Fraction)
}

func exceeds(part, whole int, fraction float64) bool { return float64(part) > fraction*float64(whole) }

// IsRefused says whether err is, or wraps, a refusal of the guard.
func IsRefused(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused)
}

// Guard judges a plan that is applied without a loop, for a target that holds as many rows as the plan says. Nil lets it
// through; otherwise IsRefused holds of the error.
func (o Options) Guard(p *backends.Plan) error {
	o = o.withDefaults()
	return o.guard(p, p.Owned)
}

// guard judges a plan for a target that holds owned rows. Nil lets it through.
func (o *Options) guard(p *backends.Plan, owned int) error {
	e := &RefusedError{Target: o.Target, Fraction: o.MaxDeleteFraction}
	if owned >= o.MinDeleteGuard { // of few rows most may go
		e.Deletes, e.Owned = p.Deletes(), owned
	}
	if p.Isolated >= o.MinDeleteGuard {
		e.Leaving, e.Isolated = p.Leaving, p.Isolated
	}
	if !exceeds(e.Deletes, e.Owned, e.Fraction) && !exceeds(e.Leaving, e.Isolated, e.Fraction) {
		return nil
	}
	return e
}
