package daemon

import (
	"context"
	"errors"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
)

// Trails finds rows of a database and what they are there for: see ovn.Backend.Trails.
func Trails(ctx context.Context, settings builtin.Settings, what string) ([]ovn.Trail, error) {
	var trails []ovn.Trail
	err := withTarget(ctx, settings, func(ctx context.Context, t *builtin.Target) error {
		b, ok := t.Backend.(*ovn.Backend)
		if !ok {
			return errors.New("the target has no rows of a Northbound database")
		}
		return whenConnected(ctx, func() error {
			var err error
			trails, err = b.Trails(ctx, what)
			return err
		})
	})
	return trails, err
}
