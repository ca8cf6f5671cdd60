package offline

import (
	"context"
	"errors"
	"fmt"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/intent"
)

// removalRounds is how often a removal is planned and written: what is refused because something else still refers to it may go the next
// time.
const removalRounds = 3

// ErrNotRemoved is what Remove returns if something is left: others refer to it, or something else writes it again.
var ErrNotRemoved = errors.New("not everything was removed")

// Remove removes everything that the owner has in the target, and reads it back to verify. With dry, it writes nothing. It returns the
// first plan. The target is a device if one is set, else the only one that is configured.
func Remove(ctx context.Context, settings builtin.Settings, dry bool) (*backends.Plan, error) {
	settings.MaxDeleteFraction = 1
	var first *backends.Plan
	remove := func(ctx context.Context, t *builtin.Target) error {
		var err error
		first, err = removeFrom(ctx, t, dry)
		return err
	}
	if settings.OpenWRT.Client.URL == "" {
		return first, withTarget(ctx, settings, remove)
	}
	t, err := builtin.New("openwrt", settings)
	if err != nil {
		return nil, err
	}
	err = running(ctx, t, remove)
	return first, err
}

// removeFrom removes everything from t, and what it keeps of settings, and returns the first plan.
func removeFrom(ctx context.Context, t *builtin.Target, dry bool) (*backends.Plan, error) {
	first, err := removeRows(ctx, t, dry)
	if recorder, ok := t.Backend.(backends.Recorder); ok && err == nil && !dry {
		err = recorder.Record(ctx, nil)
	}
	return first, err
}

// removeRows removes everything from t that plans contain, and returns the first plan.
func removeRows(ctx context.Context, t *builtin.Target, dry bool) (*backends.Plan, error) {
	first, err := planRemoval(ctx, t.Backend)
	if err != nil || dry {
		return first, err
	}
	plan := first
	for range removalRounds {
		if plan.Empty() {
			return first, nil
		}
		if err := t.Backend.Apply(ctx, plan); err != nil {
			return first, err
		}
		skips := plan.Skips
		if plan, err = planRemoval(ctx, t.Backend); err != nil {
			return first, err
		}
		plan.Skips = append(skips, plan.Skips...)
	}
	if plan.Empty() {
		return first, nil
	}
	err = fmt.Errorf("%w: %s", ErrNotRemoved, plan.Summary())
	for _, s := range plan.Skips {
		err = fmt.Errorf("%w; %s", err, s.Reason)
	}
	return first, err
}

// planRemoval plans as soon as there is a connection.
func planRemoval(ctx context.Context, b backends.Backend) (*backends.Plan, error) {
	var plan *backends.Plan
	err := whenConnected(ctx, func() error {
		var err error
		if r, ok := b.(backends.Remover); ok {
			plan, err = r.PlanRemoval(ctx)
		} else {
			plan, err = b.Plan(ctx, intent.NewSnapshot(), 0)
		}
		return err
	})
	return plan, err
}
