package openwrt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/compare"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
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
	w := &writer{
		b: b, plan: p, aborted: map[string]int{}, unnoted: map[string]bool{}, waits: map[string]bool{}, held: map[string]bool{},
		written: map[section.Key]bool{},
	}
	if err := w.all(ctx); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	p.Skips = compare.InOrder(p.Skips)
	if pending != nil && pending.plan == p {
		pending.model.skips = p.Skips
		b.model = pending.model
	}
	return nil
}

// writer applies one plan.
type writer struct {
	b       *Backend
	plan    *backends.Plan
	have    *device.Inventory
	run     *pending
	aborted map[string]int  // how often in a row scripts of the device aborted, by module
	unnoted map[string]bool // notes that cannot be left, and are done without
	errs    []error         // what went wrong without ending Apply
	written map[section.Key]bool
	kernel  bool            // something was written that the device reports from the kernel
	waits   map[string]bool // services of which nothing is written, because no note could be left
	held    map[string]bool // services of which nothing is deleted or loaded, because an object will be written once more
}

// all applies every op, stage by stage. What the device rejects because of the order is retried once at the end of its
// stage.
func (w *writer) all(ctx context.Context) error {
	for i := range w.plan.Ops {
		if s := taskOf(&w.plan.Ops[i]); s == nil {
			return ErrForeignPlan
		}
	}
	for i := range w.plan.Ops {
		if s := taskOf(&w.plan.Ops[i]); s.Clear {
			w.use(s)
			if err := w.remove(ctx, s); err != nil && !refuses(err) && !openwrt.IsFault(err) {
				return fmt.Errorf("clear %s: %w", s.Key, reached(err))
			}
		}
	}
	for from := 0; from < len(w.plan.Ops); {
		to := from
		for to < len(w.plan.Ops) && taskOf(&w.plan.Ops[to]).Stage == taskOf(&w.plan.Ops[from]).Stage {
			to++
		}
		ops := w.plan.Ops[from:to]
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

// stage applies the ops of one stage, and returns those that may succeed in another order; none if it is the last attempt.
func (w *writer) stage(ctx context.Context, ops []backends.Op, last bool) (again []backends.Op, err error) {
	for i := range ops {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := taskOf(&ops[i])
		w.use(s)
		if w.gaveUp(s) || w.isHeld(s) || s.Stage != compare.Reload && w.waits[s.Service()] {
			continue
		}
		err := w.do(ctx, s)
		switch {
		case err == nil:
			w.settle(s)
			w.succeeded(s)
		case !last && (openwrt.IsDependencyMissing(err) || openwrt.IsInUse(err)):
			again = append(again, ops[i])
		case s.Stage == compare.Reload && answered(err):
			w.fail(&ops[i], err) // the other services are reloaded all the same
		case isNote(err) && answered(err):
			w.fail(&ops[i], err)
			w.waits[s.Service()] = true
		case s.Stage != compare.Reload && refuses(err):
			if err := w.mend(ctx, s, err); err != nil {
				return nil, err
			}
		case s.Stage != compare.Reload && openwrt.IsFault(err) && !isNote(err):
			if err := w.abort(ctx, &ops[i], s, err); err != nil {
				return nil, err
			}
		default:
			return nil, errors.Join(append(w.errs, fmt.Errorf("%s %s %s: %w", ops[i].Verb, ops[i].Kind, ops[i].Name, reached(err)))...)
		}
	}
	return again, nil
}

func (w *writer) use(s *task) { w.run, w.have = s.run, s.run.model.have }

func (w *writer) do(ctx context.Context, s *task) error {
	switch {
	case s.Stage == compare.Reload:
		return w.reload(ctx, s)
	case s.Surplus != nil:
		return w.removeSurplus(ctx, s)
	case s.Want == nil:
		return w.remove(ctx, s)
	default:
		return w.put(ctx, s)
	}
}

// settle forgets that the device rejected an object before.
func (w *writer) settle(s *task) {
	if r, ok := w.b.refused[s.Key]; ok {
		delete(w.b.refused, s.Key)
		w.plan.Skips = slices.DeleteFunc(w.plan.Skips, func(k backends.Skip) bool { return k.Intent == s.Intent && k.Reason == r.Reason })
	}
}

// refuse records that the device rejects an object, or does not delete one. If it was rejected because another object
// is missing, this is not remembered: the next plan checks whether that object exists.
func (w *writer) refuse(s *task, reason string, remember bool) {
	before := w.b.refused[s.Key].Reason
	w.settle(s)
	if remember {
		r := compare.Refusal{Reason: reason}
		if s.Want != nil {
			r.Of = section.DigestOf(s.Want.Object)
		}
		w.b.refused[s.Key] = r
	}
	skip := backends.Skip{Intent: s.Intent, Reason: reason}
	if !slices.Contains(w.plan.Skips, skip) {
		w.plan.Skips = append(w.plan.Skips, skip)
	}
	if before != reason { // it is retried at each read-back
		w.b.opts.Log.WithFields(logrus.Fields{
			"cnf": string(w.b.opts.CNF), "intent": s.Intent, "object": s.Key.String(), "reason": reason,
		}).Warn("the device rejects an object")
	}
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

// task is the native form of an op of a plan: a step, and the effect of the plan that it is in.
type task struct {
	*compare.Step
	run *pending
}

// bind makes a plan the one that p is the effect of.
func (p *pending) bind(plan *backends.Plan) {
	p.plan = plan
	for i := range plan.Ops {
		plan.Ops[i].Native = &task{compare.StepOf(&plan.Ops[i]), p}
	}
}

func taskOf(op *backends.Op) *task {
	t, _ := op.Native.(*task)
	return t
}
