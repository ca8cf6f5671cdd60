package ovn

import (
	"context"
	"fmt"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
)

// Apply implements backends.Backend: one transaction for each group of ops.
func (b *Backend) Apply(ctx context.Context, p *backends.Plan) error {
	pending := b.pending
	b.pending = nil
	if pending == nil || pending.plan != p {
		pending = nil
		b.model = nil // a plan of unknown effect: read back next time
	}
	for start := 0; start < len(p.Ops); {
		end := start
		for end < len(p.Ops) && p.Ops[end].Group == p.Ops[start].Group {
			end++
		}
		if err := b.transact(ctx, p.Ops[start:end]); err != nil {
			b.model = nil
			return fmt.Errorf("apply: %w", err)
		}
		start = end
	}
	if pending != nil {
		pending.commit()
	}
	return nil
}

func (b *Backend) transact(ctx context.Context, ops []backends.Op) error {
	native := make([]libovsdb.Operation, len(ops))
	for i := range ops {
		n, ok := ops[i].Native.(nativeOp)
		if !ok {
			return fmt.Errorf("%s %s %s: not an op of this backend", ops[i].Verb, ops[i].Kind, ops[i].Name)
		}
		native[i] = n.op
	}
	results, err := b.client.Transact(ctx, native)
	if err != nil {
		return err
	}
	for i := range ops {
		if ops[i].Verb != backends.Create && i < len(results) && results[i].Count == 0 {
			return fmt.Errorf("%s %s %s: %w", ops[i].Verb, ops[i].Kind, ops[i].Name, ErrDrift)
		}
	}
	return nil
}
