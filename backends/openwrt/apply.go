package openwrt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/compare"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Apply implements backends.Backend. An object that the device rejects does not stop the others: it becomes a skip of p
// and of the plans that follow. Any other error ends Apply.
func (b *Backend) Apply(ctx context.Context, p *backends.Plan) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	if p.Empty() {
		return nil // it took effect when it was planned
	}
	pending := b.pending
	b.pending, b.model = nil, nil
	w := &writer{
		b: b, plan: p, aborted: map[string]int{}, unnoted: map[string]bool{}, waits: map[string]bool{}, held: map[string]bool{},
		written: map[section.Key]bool{}, again: b.withoutTunnels,
	}
	err := w.all(ctx)
	b.withoutTunnels = w.run != nil && w.unloaded(openwrt.Remotes.Service())
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	p.Skips = compare.InOrder(p.Skips)
	if pending != nil && pending.plan == p {
		pending.model.skips = p.Skips
		b.model = pending.model
	}
	return nil
}

// all applies every op, stage by stage. What the device rejects because of the order is retried once at the end of its
// stage.
func (w *writer) all(ctx context.Context) error {
	for i := range w.plan.Ops {
		if s := taskOf(&w.plan.Ops[i]); s == nil {
			return ErrForeignPlan
		}
	}
	for from := 0; from < len(w.plan.Ops); {
		to := from
		for to < len(w.plan.Ops) && taskOf(&w.plan.Ops[to]).Stage == taskOf(&w.plan.Ops[from]).Stage {
			to++
		}
		ops := w.plan.Ops[from:to]
		if err := w.clear(ctx, ops); err != nil {
			return err
		}
		again, err := w.stage(ctx, ops, false)
		if err == nil {
			_, err = w.stage(ctx, again, true)
		}
		if err == nil && taskOf(&ops[0]).Stage == compare.Place {
			err = w.sequence(ctx, ops)
		}
		if err != nil {
			return err
		}
		from = to
	}
	if err := w.verify(ctx); err != nil {
		return err
	}
	return errors.Join(w.errs...)
}

// clear deletes first the objects whose place in the kernel another object takes.
func (w *writer) clear(ctx context.Context, ops []backends.Op) error {
	for i := range ops {
		if s := taskOf(&ops[i]); s.Clear {
			w.use(s)
			if err := w.remove(ctx, s); err != nil && !refuses(err) && !openwrt.IsFault(err) {
				return fmt.Errorf("clear %s: %w", s.Key, reached(err))
			}
		}
	}
	return nil
}

// sequence writes those rules again that have to follow what was written. The device may have rejected any of that, so it is not known before.
func (w *writer) sequence(ctx context.Context, written []backends.Op) error {
	if !slices.ContainsFunc(written, func(op backends.Op) bool {
		s := taskOf(&op)
		return s.Want != nil && s.Want.Decision != (render.Decision{})
	}) {
		return nil
	}
	var moves []backends.Op
	for _, rule := range compare.OutOfSequence(w.run.model.resources.Objects, w.have, nil) {
		move := compare.MoveOf(rule)
		move.Native = &task{compare.StepOf(&move), w.run}
		moves = append(moves, move)
	}
	_, err := w.stage(ctx, moves, true)
	return err
}
