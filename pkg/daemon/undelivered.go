package daemon

import (
	"context"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/source"
)

// Undelivered lists the objects of a cluster that decide on connections and are of kinds that netloom does not evaluate.
func Undelivered(ctx context.Context, login kube.Login) (*source.Undelivered, error) {
	config, err := kube.Config(login)
	if err != nil {
		return nil, err
	}
	return kube.ListForeign(ctx, config, kube.ForeignKinds{Wanted: world.MayDecide, InGroup: world.InGroup, Whole: world.LooksInto})
}
