package tungsten

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/tungsten"
)

var (
	errForeign = errors.New("not a plan of this backend")
	errNoTagID = errors.New("the controller has no tag IDs left; rules that need the tag deny")
	errNoBase  = errors.New("the controller has no tag IDs left, and it enforces nothing without this tag")
)

// Apply implements backends.Backend: one request for each op. When tag IDs run out, it plans again what needs one, and goes on with that;
// then p has the ops and skips of the new plan. It goes on when a request is refused, see refusal.go.
func (b *Backend) Apply(ctx context.Context, p *backends.Plan) error {
	of := b.pending
	b.pending = nil
	if of != nil && (of.plan.Revision != p.Revision || len(of.plan.Ops) != len(p.Ops)) {
		of = nil // only a part of what is pending
	}
	if p.Empty() {
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	if !b.asked {
		if err := b.enforces(ctx); err != nil {
			return fmt.Errorf("apply: %w", err)
		}
	}
	b.asked = false
	reached := b.model
	b.model, b.doubt = nil, false // until everything is written
	w := newWriting(b, p, of)
	for i := 0; i < len(p.Ops); i++ {
		if err := ctx.Err(); err != nil {
			if i == 0 {
				b.model = reached
			}
			return w.fail(fmt.Errorf("apply: %w", err))
		}
		again, err := w.step(ctx, &p.Ops[i])
		switch {
		case err != nil:
			return w.fail(err)
		case again:
			i = -1
		}
	}
	return w.finish()
}

// step writes one op. It returns true if the plan was replaced by another, which has to be applied from its beginning.
func (w *writing) step(ctx context.Context, op *backends.Op) (again bool, err error) {
	r, ok := op.Native.(write)
	if !ok {
		return false, fmt.Errorf("apply %s %s: %w", op.Kind, op.Name, errForeign)
	}
	if w.b.barred[r.vip] != "" || w.waits(op, &r) {
		return false, nil
	}
	if r.delete != nil && w.gone[r.delete.UUID] {
		return false, nil
	}
	err = w.b.send(ctx, r)
	if r.delete != nil && tungsten.IsNotFound(err) {
		w.b.doubt = true
		err = w.missed(ctx)
	}
	if err == nil {
		w.done(&r)
		return false, nil
	}
	err = fmt.Errorf("apply: %s %s %s: %w", op.Verb, op.Kind, op.Name, err)
	switch {
	case errors.Is(err, errNoTagID):
		return w.exhausted(&r, err)
	case w.b.bar(r, err):
		w.errs = append(w.errs, err)
		return false, nil
	case w.refuses(op, &r, err):
		return false, nil
	default:
		return false, err
	}
}

// exhausted goes on without tags of a type that the controller has no ID left for.
func (w *writing) exhausted(r *write, err error) (again bool, _ error) {
	b, kind := w.b, typeOf(r.create.Name())
	switch {
	case r.probe:
		return false, nil
	case b.names.isCoverTag(r.create.Name()):
		return false, fmt.Errorf("%w: %w", errNoBase, err)
	case b.full[kind]:
		return false, err
	}
	b.full[kind] = true
	if w.of == nil || w.of.again == nil {
		return false, err
	}
	if err := b.again(w.of, w.created); err != nil {
		return false, err
	}
	w.of, b.pending = b.pending, nil
	return true, nil
}

// bar notes that the controller refuses the load balancer of a VIP: from the next plan on it is reported, and does not affect others.
func (b *Backend) bar(w write, err error) bool {
	var status *tungsten.StatusError
	if w.create == nil || !w.vip.IsValid() || !errors.As(err, &status) {
		return false
	}
	switch status.Code {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusPreconditionFailed:
	case http.StatusConflict:
		if w.create.Kind != tungsten.KindInstanceIP {
			return false // it may be there already
		}
	default:
		return false
	}
	b.barred[w.vip] = status.Message
	b.learned = true
	return true
}

// recheck makes the next plan read again what a server did not find: its answer may be stale.
func (b *Backend) recheck(l *tungsten.Link) {
	if l.From != tungsten.KindInterface {
		b.doubt = true
		return
	}
	b.Observe(tungsten.Event{Type: tungsten.EventDelete, Kind: l.From, Objects: []*tungsten.Object{{Kind: l.From, UUID: l.UUID}}})
}

// send sends one request. A reference that is gone already need not be removed.
func (b *Backend) send(ctx context.Context, w write) error {
	var err error
	switch {
	case w.create != nil:
		_, err = b.api.Create(ctx, w.create)
		if tungsten.IsExhausted(err) && w.create.Kind == tungsten.KindTag {
			return fmt.Errorf("%w: %w", errNoTagID, err)
		}
	case w.update != nil:
		err = b.api.Update(ctx, w.update.kind, w.update.uuid, w.update.fields)
	case w.delete != nil:
		err = b.api.Delete(ctx, w.delete.Kind, w.delete.UUID)
	case w.add != nil:
		err = b.api.AddRef(ctx, *w.add)
	case w.remove != nil:
		err = b.api.RemoveRef(ctx, *w.remove)
		if tungsten.IsNotFound(err) {
			b.recheck(w.remove)
			return nil
		}
	}
	if tungsten.IsDraft(err) {
		return fmt.Errorf("%w: %w", ErrDraft, err)
	}
	return err
}
