package reconcile

import (
	"errors"
	"fmt"

	"github.com/netloom/netloom/backends"
)

// RefusedError says that a plan was held back because it would have deleted too much.
type RefusedError struct {
	Target   string
	Deletes  int
	Owned    int
	Fraction float64 // the largest share that is let through
}

// Error says how much would have been deleted, and what lets it through.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("refused to delete %d of %d owned rows of %s: more than %g of them; "+
		"check that the sources are complete, then force it", e.Deletes, e.Owned, e.Target, e.Fraction)
}

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
	deletes := p.Deletes()
	if owned < o.MinDeleteGuard || float64(deletes) <= o.MaxDeleteFraction*float64(owned) {
		return nil
	}
	return &RefusedError{Target: o.Target, Deletes: deletes, Owned: owned, Fraction: o.MaxDeleteFraction}
}
