package offline

import (
	"context"
	"fmt"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
)

// Trails finds rows of a database and their origins: see backends.RowTracer.
func Trails(ctx context.Context, settings builtin.Settings, what string) ([]backends.Trail, error) {
	var trails []backends.Trail
	err := withTarget(ctx, settings, func(ctx context.Context, t *builtin.Target) error {
		b, ok := t.Backend.(backends.RowTracer)
		if !ok {
			return fmt.Errorf("target %s names no source objects", t.Name)
		}
		return whenConnected(ctx, func() error {
			var err error
			trails, err = b.Trails(ctx, what)
			return err
		})
	})
	return trails, err
}
