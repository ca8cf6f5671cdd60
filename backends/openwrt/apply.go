package openwrt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/openwrt"
)

// pending is the effect of a plan on the model, and how far it was applied.
type pending struct {
	plan  *backends.Plan
	model *model
	wrote map[string]bool // services that have to reload
	left  map[string]bool // notes that exist, whatever the model says
}

// ErrForeignPlan is what Apply returns for a plan that another backend made.
var ErrForeignPlan = errors.New("not a plan of this backend")

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
	w := &writer{b: b, plan: p}
	if err := w.all(ctx); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	b.begun = true
	p.Skips = inOrder(p.Skips)
	if pending != nil && pending.plan == p {
		pending.model.skips = p.Skips
		b.model = pending.model
	}
	return nil
}

// writer applies one plan.
type writer struct {
	b    *Backend
	plan *backends.Plan
	have *inventory
	run  *pending
}

// all applies every op, stage by stage. What the device rejects because of the order is retried once at the end of its
// stage.
func (w *writer) all(ctx context.Context) error {
	for i := range w.plan.Ops {
		if s := stepOf(&w.plan.Ops[i]); s == nil || s.run == nil {
			return ErrForeignPlan
		}
	}
	for i := range w.plan.Ops {
		if s := stepOf(&w.plan.Ops[i]); s.clear {
			w.use(s)
			if err := w.remove(ctx, s); err != nil {
				return fmt.Errorf("clear %s: %w", s.key, reached(err))
			}
		}
	}
	for from := 0; from < len(w.plan.Ops); {
		to := from
		for to < len(w.plan.Ops) && stepOf(&w.plan.Ops[to]).stage == stepOf(&w.plan.Ops[from]).stage {
			to++
		}
		again, err := w.stage(ctx, w.plan.Ops[from:to], false)
		if err == nil {
			_, err = w.stage(ctx, again, true)
		}
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// stage applies the ops of one stage, and returns those that may succeed in another order; none if it is the last attempt.
func (w *writer) stage(ctx context.Context, ops []backends.Op, last bool) (again []backends.Op, err error) {
	for i := range ops {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := stepOf(&ops[i])
		w.use(s)
		err := w.do(ctx, s)
		switch {
		case err == nil:
			w.settle(s)
		case !last && (openwrt.IsDependencyMissing(err) || openwrt.IsInUse(err)):
			again = append(again, ops[i])
		case s.stage != reload && refuses(err):
			if err := w.mend(ctx, s, err); err != nil {
				return nil, err
			}
		default:
			return nil, errors.Join(fmt.Errorf("%s %s %s: %w", ops[i].Verb, ops[i].Kind, ops[i].Name, reached(err)), w.rescue(ctx, s, err))
		}
	}
	return again, nil
}

func (w *writer) use(s *step) { w.run, w.have = s.run, s.run.model.have }

func (w *writer) do(ctx context.Context, s *step) error {
	switch {
	case s.stage == reload:
		return w.reload(ctx, s)
	case s.want == nil:
		return w.remove(ctx, s)
	default:
		return w.put(ctx, s)
	}
}

// remove deletes the object of a name. Deleting a note has no effect on a service.
func (w *writer) remove(ctx context.Context, s *step) error {
	note := s.key.kind == openwrt.Proposals && w.b.names.note(s.key.name)
	if note && w.run.left[s.key.name] {
		return nil
	}
	if !note {
		if err := w.begin(ctx, s.service()); err != nil {
			return err
		}
	}
	if err := w.b.client.Delete(ctx, s.key.kind, s.key.name); err != nil && !openwrt.IsNotFound(err) {
		return err
	}
	if note {
		delete(w.have.notes, s.key.name)
		return nil
	}
	delete(w.have.objects, s.key)
	w.run.wrote[s.service()] = true
	return nil
}

// put writes an object, unless something that it refers to is missing.
func (w *writer) put(ctx context.Context, s *step) error {
	for _, need := range s.want.needs {
		if r, refused := w.b.refused[need]; refused && w.have.objects[need] == nil {
			return &needError{need, r.reason}
		}
	}
	if err := w.begin(ctx, s.service()); err != nil {
		return err
	}
	kept, err := w.b.client.Put(ctx, s.key.kind, s.want.object)
	if err != nil {
		return err
	}
	w.have.objects[s.key] = &deviceObject{object: kept, sent: s.want.object, copies: 1, as: s.want}
	w.run.wrote[s.service()] = true
	if written := sealed(s.want.object); written != "" {
		return w.leaveNote(ctx, w.b.names.seal(s.key.name, written, shown(kept)))
	}
	return nil
}

// begin leaves a note that a service has to reload, before anything is written: if this process ends before it reloads
// the service, the next one finds the note.
func (w *writer) begin(ctx context.Context, service string) error {
	if service == "" {
		return nil
	}
	return w.leaveNote(ctx, w.b.names.pending(service))
}

func (w *writer) leaveNote(ctx context.Context, name string) error {
	w.run.left[name] = true
	if w.have.notes[name] {
		return nil
	}
	_, err := w.b.client.Put(ctx, openwrt.Proposals, openwrt.ObjectOf(openwrt.Proposal{Name: name}))
	if err != nil {
		return &noteError{err}
	}
	w.have.notes[name] = true
	return nil
}

// reload reloads a service, if anything was written for it, and removes the note.
func (w *writer) reload(ctx context.Context, s *step) error {
	service := s.key.name
	if s.must || w.run.wrote[service] {
		if err := w.b.client.Act(ctx, service, openwrt.Reload); err != nil {
			return err
		}
		w.run.wrote[service] = false
	}
	name := w.b.names.pending(service)
	if !w.have.notes[name] {
		return nil
	}
	if err := w.b.client.Delete(ctx, openwrt.Proposals, name); err != nil && !openwrt.IsNotFound(err) {
		return err
	}
	delete(w.have.notes, name)
	return nil
}

// settle forgets that the device rejected an object before.
func (w *writer) settle(s *step) {
	if r, ok := w.b.refused[s.key]; ok {
		delete(w.b.refused, s.key)
		w.plan.Skips = slices.DeleteFunc(w.plan.Skips, func(k backends.Skip) bool { return k.Intent == s.intent && k.Reason == r.reason })
	}
}

// refuse records that the device rejects an object, or does not delete one. If it was rejected because another object
// is missing, this is not remembered: the next plan checks whether that object exists.
func (w *writer) refuse(s *step, reason string, remember bool) {
	w.settle(s)
	if remember {
		r := refusal{reason: reason}
		if s.want != nil {
			r.of = digestOf(s.want.object)
		}
		w.b.refused[s.key] = r
	}
	skip := backends.Skip{Intent: s.intent, Reason: reason}
	if !slices.Contains(w.plan.Skips, skip) {
		w.plan.Skips = append(w.plan.Skips, skip)
	}
	w.b.opts.Log.WithFields(logrus.Fields{
		"cnf": string(w.b.opts.CNF), "intent": s.intent, "object": s.key.String(), "reason": reason,
	}).Warn("the device rejects an object")
}

// service returns the service that a step concerns, "" if it takes effect at once or not at all.
func (s *step) service() string { return s.key.kind.Service() }
