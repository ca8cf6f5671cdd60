package openwrt

import (
	"context"
	"errors"
	"fmt"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
)

// Plan implements backends.Backend. While device intents are unavailable, the plan is empty. It is an error if the CNF
// must not be written now.
func (b *Backend) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	b.pending = nil
	if want.Unknown().Has(intent.AreaDevices) {
		b.model = nil
		return &backends.Plan{Revision: want.Revision(), Full: since == 0}, nil
	}
	g := want.CNF(b.opts.CNF)
	if err := b.writable(g); err != nil {
		b.model = nil
		return nil, fmt.Errorf("plan: CNF %s: %w", b.opts.CNF, err)
	}
	if since == 0 {
		return b.planAll(ctx, want, g)
	}
	changes, ok := b.changesSince(want, since, g)
	if !ok {
		b.model = nil
		return &backends.Plan{Revision: want.Revision(), Resync: true}, nil
	}
	return b.planChanges(ctx, want, g, changes)
}

// writable returns the reason why a CNF must not be written now, nil if it may.
func (b *Backend) writable(g *intent.CNF) error {
	switch {
	case g == nil:
		return errors.New("it does not exist")
	case g.Conflict != "":
		return errors.New(g.Conflict)
	case g.Leaving:
		return errors.New("it is terminating")
	case b.opts.Addr.IsValid() && g.Addr != b.opts.Addr:
		return errors.New("its address has changed")
	case !g.Writable():
		return errors.New("it is not ready")
	default:
		return nil
	}
}
