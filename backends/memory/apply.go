package memory

import (
	"context"
	"fmt"

	"github.com/netloom/netloom/backends"
)

// Apply writes p, one transaction for each group, and stops at the first that fails.
func (b *Backend) Apply(ctx context.Context, p *backends.Plan) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	reached := b.planned
	b.applied = nil // until every group is written
	for from := 0; from < len(p.Ops); {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := from
		for to < len(p.Ops) && p.Ops[to].Group == p.Ops[from].Group {
			to++
		}
		if err := b.target.transact(b, p.Ops[from:to]); err != nil {
			return fmt.Errorf("apply group %d: %w", p.Ops[from].Group, err)
		}
		from = to
	}
	if reached != nil && reached.Revision() == p.Revision {
		b.applied = reached
	}
	return nil
}
