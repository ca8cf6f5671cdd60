package ovn

import (
	"context"
	"errors"
	"fmt"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// Apply implements backends.Backend: one transaction for each group of ops.
func (b *Backend) Apply(ctx context.Context, p *backends.Plan) error {
	if p.Empty() {
		return nil // it had its effect when it was planned
	}
	pending := b.pending
	b.pending = nil
	if pending == nil || pending.plan != p {
		pending = nil
		b.model = nil // a plan of unknown effect: read back next time
	}
	rest := p.Ops
	for len(rest) > 0 {
		group := firstGroup(rest)
		if err := b.transact(ctx, group); err != nil {
			b.model = nil
			b.adopt = ovsdb.IsDuplicate(err)
			return fmt.Errorf("apply: %w", err)
		}
		rest = rest[len(group):]
	}
	b.adopt = false
	if pending != nil {
		pending.commit()
	}
	b.checkApplied(ctx, p.Ops)
	return nil
}

// firstGroup is the ops at the start that are one transaction.
func firstGroup(ops []backends.Op) []backends.Op {
	for i := range ops {
		if ops[i].Group != ops[0].Group {
			return ops[:i]
		}
	}
	return ops
}

// Transactions spells a plan as the operations that Apply sends, transaction by transaction.
func Transactions(p *backends.Plan) ([][]libovsdb.Operation, error) {
	var out [][]libovsdb.Operation
	rest := p.Ops
	for len(rest) > 0 {
		group := firstGroup(rest)
		native, err := operations(nil, group)
		if err != nil {
			return nil, err
		}
		out = append(out, native)
		rest = rest[len(group):]
	}
	return out, nil
}

// operations is what ops send, behind what is before them.
func operations(before []libovsdb.Operation, ops []backends.Op) ([]libovsdb.Operation, error) {
	native := make([]libovsdb.Operation, len(before), len(before)+len(ops))
	copy(native, before)
	for i := range ops {
		n, ok := ops[i].Native.(nativeOp)
		if !ok {
			return nil, fmt.Errorf("%s %s %s: not an op of this backend", ops[i].Verb, ops[i].Kind, ops[i].Name)
		}
		native = append(native, n.op)
	}
	return native, nil
}

func (b *Backend) transact(ctx context.Context, ops []backends.Op) error {
	if b.fence.deposed != nil {
		return b.fence.deposed
	}
	guard := b.fence.guard
	native, err := operations(guard, ops)
	if err != nil {
		return err
	}
	results, err := b.client.Transact(ctx, native)
	if err != nil {
		return b.refused(ctx, behind(len(guard), err))
	}
	results = results[len(guard):]
	for i := range ops {
		native, _ := ops[i].Native.(nativeOp)
		if ops[i].Verb != backends.Create && !native.maybe && i < len(results) && results[i].Count == 0 {
			return fmt.Errorf("%s %s %s: %w", ops[i].Verb, ops[i].Kind, ops[i].Name, ErrDrift)
		}
	}
	return nil
}

// behind makes a refusal count operations as the plan does, which knows nothing of those before.
func behind(before int, err error) error {
	var refused *ovsdb.OperationError
	if errors.As(err, &refused) && refused.Index >= before {
		refused.Index -= before
	}
	return err
}
