package ovn

import (
	"context"
	"errors"
	"fmt"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// Apply implements backends.Backend: one transaction for each group of ops.
func (b *Backend) Apply(ctx context.Context, p *backends.Plan) error {
	if p.Empty() {
		return nil // it took effect when it was planned
	}
	pending := b.pending
	b.pending = nil
	if pending == nil || pending.plan != p {
		pending = nil
		b.model = nil // a plan of unknown effect: read back next time
	}
	ops, err := nb.OpsOf(p)
	reported := &reports{}
	for rest := ops; len(rest) > 0 && err == nil; {
		group := firstGroup(rest)
		err = b.transact(ovsdb.WithSent(ctx, func() { backends.Pass(ctx, backends.Sent) }), group)
		backends.Pass(ctx, backends.Answered)
		rest = rest[len(group):]
		if b.watch.on {
			b.watch.reported(group, reported)
		}
	}
	if err != nil {
		b.model = nil
		b.adopt = ovsdb.IsDuplicate(err)
		return fmt.Errorf("apply: %w", err)
	}
	b.adopt = false
	if pending != nil {
		pending.commit()
	}
	b.watch.checkApplied(ctx, b.model, ops, reported)
	return nil
}

func (b *Backend) transact(ctx context.Context, ops []*nb.Op) error {
	results, err := b.fence.transact(ctx, operations(ops))
	if err != nil {
		return err
	}
	for i, o := range ops {
		if o.Verb != backends.Create && !o.Unused && i < len(results) && results[i].Count == 0 {
			return fmt.Errorf("%s %s %s: %w", o.Verb, o.Table, o.Name, ErrDrift)
		}
	}
	return nil
}

// ErrDrift is what Apply returns if a row that was to change no longer exists. The next plan has to read back.
var ErrDrift = errors.New("one of our rows is missing")

// Transactions renders a plan as the operations that Apply sends, transaction by transaction.
func Transactions(p *backends.Plan) ([][]libovsdb.Operation, error) {
	ops, err := nb.OpsOf(p)
	if err != nil {
		return nil, err
	}
	var out [][]libovsdb.Operation
	for rest := ops; len(rest) > 0; {
		group := firstGroup(rest)
		out = append(out, operations(group))
		rest = rest[len(group):]
	}
	return out, nil
}

// firstGroup returns the leading ops that form one transaction.
func firstGroup(ops []*nb.Op) []*nb.Op {
	for i := range ops {
		if ops[i].Group != ops[0].Group {
			return ops[:i]
		}
	}
	return ops
}

// operations returns what ops send to the database.
func operations(ops []*nb.Op) []libovsdb.Operation {
	out := make([]libovsdb.Operation, len(ops))
	for i, o := range ops {
		out[i] = o.Operation()
	}
	return out
}
