package openwrt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
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
	p.Skips = inOrder(p.Skips)
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
	have    *inventory
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
		if s := stepOf(&w.plan.Ops[i]); s == nil || s.run == nil {
			return ErrForeignPlan
		}
	}
	for i := range w.plan.Ops {
		if s := stepOf(&w.plan.Ops[i]); s.clear {
			w.use(s)
			if err := w.remove(ctx, s); err != nil && !refuses(err) && !openwrt.IsFault(err) {
				return fmt.Errorf("clear %s: %w", s.key, reached(err))
			}
		}
	}
	for from := 0; from < len(w.plan.Ops); {
		to := from
		for to < len(w.plan.Ops) && stepOf(&w.plan.Ops[to]).stage == stepOf(&w.plan.Ops[from]).stage {
			to++
		}
		ops := w.plan.Ops[from:to]
		again, err := w.stage(ctx, ops, false)
		if err == nil {
			_, err = w.stage(ctx, again, true)
		}
		if err == nil && stepOf(&ops[0]).stage == place {
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
		s := stepOf(&ops[i])
		w.use(s)
		if w.gaveUp(s) || w.isHeld(s) || s.stage != reload && w.waits[s.service()] {
			continue
		}
		err := w.do(ctx, s)
		switch {
		case err == nil:
			w.settle(s)
			w.succeeded(s)
		case !last && (openwrt.IsDependencyMissing(err) || openwrt.IsInUse(err)):
			again = append(again, ops[i])
		case s.stage == reload && answered(err):
			w.fail(&ops[i], err) // the other services are reloaded all the same
		case isNote(err) && answered(err):
			w.fail(&ops[i], err)
			w.waits[s.service()] = true
		case s.stage != reload && refuses(err):
			if err := w.mend(ctx, s, err); err != nil {
				return nil, err
			}
		case s.stage != reload && openwrt.IsFault(err) && !isNote(err):
			if err := w.abort(ctx, &ops[i], s, err); err != nil {
				return nil, err
			}
		default:
			return nil, errors.Join(append(w.errs, fmt.Errorf("%s %s %s: %w", ops[i].Verb, ops[i].Kind, ops[i].Name, reached(err)))...)
		}
	}
	return again, nil
}

func (w *writer) use(s *step) { w.run, w.have = s.run, s.run.model.have }

func (w *writer) do(ctx context.Context, s *step) error {
	switch {
	case s.stage == reload:
		return w.reload(ctx, s)
	case s.surplus != nil:
		return w.removeSurplus(ctx, s)
	case s.want == nil:
		return w.remove(ctx, s)
	default:
		return w.put(ctx, s)
	}
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
	before := w.b.refused[s.key].reason
	w.settle(s)
	if remember {
		r := refusal{reason: reason}
		if s.want != nil {
			r.of = section.DigestOf(s.want.Object)
		}
		w.b.refused[s.key] = r
	}
	skip := backends.Skip{Intent: s.intent, Reason: reason}
	if !slices.Contains(w.plan.Skips, skip) {
		w.plan.Skips = append(w.plan.Skips, skip)
	}
	if before != reason { // it is retried at each read-back
		w.b.opts.Log.WithFields(logrus.Fields{
			"cnf": string(w.b.opts.CNF), "intent": s.intent, "object": s.key.String(), "reason": reason,
		}).Warn("the device rejects an object")
	}
}

// service returns the service that a step belongs to, "" if it takes effect at once or not at all.
func (s *step) service() string { return s.key.Kind.Service() }
