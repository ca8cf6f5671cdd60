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
	errNoTagID = errors.New("the controller has no tag IDs left; rules that need the tag deny from the next plan on")
)

// Apply implements backends.Backend: one request for each op.
func (b *Backend) Apply(ctx context.Context, p *backends.Plan) error {
	pending := b.pending
	b.pending = nil
	if p.Empty() {
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	reached := b.model
	b.model, b.doubt = nil, false // until everything is written
	var refusals []error
	for i := range p.Ops {
		op := &p.Ops[i]
		if err := ctx.Err(); err != nil {
			if i == 0 {
				b.model = reached
			}
			return fmt.Errorf("apply: %w", err)
		}
		w, ok := op.Native.(write)
		if !ok {
			return fmt.Errorf("apply %s %s: %w", op.Kind, op.Name, errForeign)
		}
		if b.barred[w.vip] != "" {
			continue
		}
		if err := b.send(ctx, w); err != nil {
			err = fmt.Errorf("apply: %s %s %s: %w", op.Verb, op.Kind, op.Name, err)
			if !b.bar(w, err) {
				return errors.Join(append(refusals, err)...)
			}
			refusals = append(refusals, err)
		}
	}
	if len(refusals) > 0 {
		return errors.Join(refusals...)
	}
	if !b.doubt && pending != nil && pending.plan.Revision == p.Revision && len(pending.plan.Ops) == len(p.Ops) {
		pending.commit()
	}
	return nil
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
	b.retry = false
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

// send sends one request. What is gone already need not be removed.
func (b *Backend) send(ctx context.Context, w write) error {
	var err error
	switch {
	case w.create != nil:
		_, err = b.api.Create(ctx, w.create)
		if tungsten.IsExhausted(err) && w.create.Kind == tungsten.KindTag {
			b.refused[w.create.Name()] = true
			b.retry = false
			return fmt.Errorf("%w: %w", errNoTagID, err)
		}
	case w.update != nil:
		err = b.api.Update(ctx, w.update.kind, w.update.uuid, w.update.fields)
	case w.delete != nil:
		err = b.api.Delete(ctx, w.delete.Kind, w.delete.UUID)
		if tungsten.IsNotFound(err) {
			b.doubt = true
			return nil
		}
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
