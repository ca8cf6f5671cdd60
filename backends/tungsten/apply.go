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

// Apply implements backends.Backend: one request for each op, several at once within a phase, see rounds. When tag IDs run out, it plans again what needs one, and goes on with that;
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
	for i := 0; i < len(p.Ops); {
		end := endOfPhase(p.Ops, i)
		again, err := w.writePhase(ctx, p.Ops[i:end])
		switch {
		case err != nil && !w.sent:
			b.model = reached
			return w.fail(err)
		case err != nil:
			return w.fail(err)
		case again:
			i = 0
		default:
			i = end
		}
	}
	return w.finish()
}

// writePhase writes the ops of one phase in rounds. It returns true if the plan was replaced by another, which has to be applied from its
// beginning.
func (w *writing) writePhase(ctx context.Context, ops []backends.Op) (again bool, err error) {
	left, err := newRounds(ops)
	if err != nil {
		return false, err
	}
	for {
		round := w.choose(left)
		if len(round) == 0 {
			return false, nil
		}
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("apply: %w", err)
		}
		w.sent = true
		calls := make([]func(), len(round))
		for i := range round {
			calls[i] = func() { round[i].err = w.b.send(ctx, round[i].write) }
		}
		w.b.api.Together(calls...)
		if again, err := w.settle(ctx, round); again || err != nil {
			return again, err
		}
	}
}

// choose takes the requests of the next round: none if everything was tried. The tags that every owner has go one by one, because the last
// IDs are for the first of them. The first deletion goes alone: if it finds nothing to delete, the others are read before they are deleted.
func (w *writing) choose(left *rounds) []request {
	var out []request
	for len(out) < maxInFlight && (len(out) == 0 || out[0].phase != createBase) {
		r, some := left.next()
		if !some {
			if left.finish(); len(out) == 0 && len(left.ready) > 0 {
				continue // of what was chosen, nothing can be sent
			}
			break
		}
		if w.b.barred[r.vip] != "" || w.waits(r.op, &r.write) || r.delete != nil && w.gone[r.delete.UUID] {
			continue
		}
		out = append(out, r)
		if r.delete != nil && !w.deletes {
			w.deletes = true
			break
		}
	}
	left.finish()
	return out
}

// settle notes what came of a round: first what succeeded, because a new plan builds on it.
func (w *writing) settle(ctx context.Context, round []request) (again bool, err error) {
	for i := range round {
		r := &round[i]
		switch {
		case r.err == nil:
		case r.remove != nil && tungsten.IsNotFound(r.err): // a reference that is gone already need not be removed
			w.b.recheck(r.remove)
			r.err = nil
		case r.delete != nil && tungsten.IsNotFound(r.err):
			w.b.doubt = true
			r.err = w.missed(ctx)
		}
		if r.err == nil {
			w.done(&r.write)
		}
	}
	var faults []error
	for i := range round {
		r := &round[i]
		if r.err == nil {
			continue
		}
		again, err := w.failed(r)
		if again {
			return true, nil
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	return false, errors.Join(faults...)
}

// failed decides what follows from a request that failed: an error ends the plan.
func (w *writing) failed(r *request) (again bool, _ error) {
	err := fmt.Errorf("apply: %s %s %s: %w", r.op.Verb, r.op.Kind, r.op.Name, r.err)
	switch {
	case errors.Is(err, errNoTagID):
		return w.exhausted(&r.write, err)
	case w.b.bar(r.write, err):
		w.errs = append(w.errs, err)
		return false, nil
	case w.refuses(r.op, &r.write, err):
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

// send sends one request. It may be called by several goroutines.
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
	}
	if tungsten.IsDraft(err) {
		return fmt.Errorf("%w: %w", ErrDraft, err)
	}
	return err
}
