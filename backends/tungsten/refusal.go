package tungsten

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/tungsten"
)

// A request that is refused for what it asks for concerns its object alone. The first time, the plan ends there: a plan from what was
// read back may do better. If one is refused again, the plan goes on without it and without what needs it, and what opens waits where
// something that closes was refused. What is refused for good is reported with the plan, and tried with each read-back. Clean-up that is
// refused never ends a plan.

// maxFaults is how many requests in a row may fail within the server before the whole server is taken for faulty.
const maxFaults = 5

// writing is the execution of a plan.
type writing struct {
	b    *Backend
	plan *backends.Plan
	of   *pending // nil if the plan is only a part of what is pending
	// patient means that something is known to be refused: one refusal more does not end the plan.
	patient bool
	sent    bool // something
	deletes bool // something was deleted, or found to be gone
	created []*tungsten.Object
	refused map[string]string // by write.key, why
	absent  map[string]bool   // UUIDs of objects that could not be created
	shut    []span            // where something that closes was not written
	faults  int               // in a row
	lacks   bool              // something else than clean-up was not written
	errs    []error
	reports []backends.Skip
	gone    map[string]bool             // UUIDs of objects to delete that do not exist; nil while none is known
	left    map[string]*tungsten.Object // what stays although nothing needs it, by UUID
}

// newWriting begins to execute a plan.
func newWriting(b *Backend, p *backends.Plan, of *pending) *writing {
	w := &writing{b: b, plan: p, of: of, refused: map[string]string{}, absent: map[string]bool{}, left: map[string]*tungsten.Object{}}
	for i := range p.Ops {
		if r, ok := p.Ops[i].Native.(write); ok && b.refused[r.key()] != "" {
			w.patient = of != nil
		}
	}
	return w
}

// done notes that a request succeeded.
func (w *writing) done(r *write) {
	w.faults = 0
	switch {
	case r.create != nil:
		w.created = append(w.created, r.create)
		if r.probe {
			w.b.freed(r.create.Name())
		}
	case r.delete != nil && r.delete.Kind == tungsten.KindTag:
		w.b.freed(r.delete.Name())
	}
}

// missed notes that an object to be deleted does not exist. The controller may have lost its memory, so the others are read before they are
// deleted.
func (w *writing) missed(ctx context.Context) error {
	if w.gone != nil {
		return nil
	}
	w.gone = map[string]bool{}
	ids := map[tungsten.Kind][]string{}
	for i := range w.plan.Ops {
		if r, ok := w.plan.Ops[i].Native.(write); ok && r.delete != nil {
			ids[r.delete.Kind] = append(ids[r.delete.Kind], r.delete.UUID)
			w.gone[r.delete.UUID] = true
		}
	}
	for kind, of := range ids {
		list, err := w.b.api.List(ctx, kind, tungsten.Query{UUIDs: of})
		if err != nil {
			return unreachable(err)
		}
		for _, o := range list {
			delete(w.gone, o.UUID)
		}
	}
	return nil
}

// fail ends a plan that is not written completely.
func (w *writing) fail(err error) error {
	w.b.refused = w.refused
	return errors.Join(append(w.errs, err)...)
}

// finish ends a plan of which every op was tried.
func (w *writing) finish() error {
	w.b.refused = w.refused
	if len(w.errs) > 0 {
		return errors.Join(w.errs...)
	}
	w.plan.Skips = append(slices.Clip(w.plan.Skips), w.reports...)
	if w.of != nil && !w.lacks && !w.b.doubt {
		w.of.commit()
		w.b.model.keep(w.left)
	}
	return nil
}

// refuses reports whether an error concerns only the object of an op, so that the plan goes on, and notes what follows from it.
func (w *writing) refuses(op *backends.Op, r *write, err error) bool {
	var status *tungsten.StatusError
	if !errors.As(err, &status) {
		return false
	}
	switch status.Code {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge:
		w.faults = 0
	case http.StatusInternalServerError:
		if w.faults++; w.faults > maxFaults {
			return false
		}
	default:
		return false
	}
	known := w.b.refused[r.key()] != ""
	if r.phase.cleans() {
		w.leaves(op, r, known, err)
		return true
	}
	w.miss(r, status.Message)
	if !w.patient {
		return false
	}
	if !known {
		w.errs = append(w.errs, err)
		return true
	}
	w.report(op, r, "the controller refuses it: "+status.Message, false)
	return true
}

// leaves notes that clean-up was refused. What others refer to stays until they no longer do.
func (w *writing) leaves(op *backends.Op, r *write, known bool, err error) {
	referenced := tungsten.IsReferenced(err)
	if r.delete != nil {
		w.left[r.delete.UUID] = r.delete
	}
	if w.refused[r.key()] = err.Error(); referenced && w.lacks {
		return // perhaps only because of what was not written
	}
	switch {
	case known && referenced:
		w.report(op, r, "nothing needs it any more, but somebody else's object refers to it", true)
	case known:
		w.report(op, r, "nothing needs it any more, but the controller does not delete it: "+err.Error(), true)
	case referenced:
		w.b.doubt = true // it may have been nothing but a reference that was removed late
	default:
		w.errs = append(w.errs, err)
	}
}

// miss notes that something was not written.
func (w *writing) miss(r *write, why string) {
	w.refused[r.key()], w.lacks = why, true
	if r.create != nil {
		w.absent[r.create.UUID] = true
	}
	if w.of == nil {
		return
	}
	if r.phase.closes() || r.phase == addUnused && w.of.made.denies(r.add.Target) || r.create != nil && r.create.Kind == tungsten.KindFirewallPolicy || w.of.made.repairsDeny(r) {
		w.close(w.of.made.spansOf(r))
	}
}

// maxShut is how many spans are compared one by one.
const maxShut = 16

// close notes that what closes some connections was not written.
func (w *writing) close(spans []span) {
	if w.shut = append(w.shut, spans...); len(w.shut) > maxShut {
		w.shut = []span{{}}
	}
}

// waits reports whether an op cannot be written, or would open what should be closed, because of what was not written before it. It
// removes what is absent from lists of references.
func (w *writing) waits(op *backends.Op, r *write) bool {
	if !w.lacks || w.of == nil || r.phase.cleans() {
		return false
	}
	made, why := w.of.made, ""
	switch {
	case r.add != nil && w.absent[r.add.Target], r.create != nil && w.anyAbsent(made.needs(r.create)):
		why = "what it refers to was refused"
	case r.phase.opens() && meet(w.shut, made.spansOf(r)):
		why = "it opens connections, and something that closes some of them was refused"
	case w.without(made, r):
		return false
	default:
		why = "a rule of it that denies was refused"
	}
	w.miss(r, why)
	if w.b.refused[r.key()] != "" {
		w.report(op, r, "it waits: "+why, false)
	}
	return r.phase != replaceOrder || !w.tighten(made, r)
}

// tighten replaces the list of an ordered stage, which has to wait, by one that is at least as strict as the list before and after it.
// It returns false if the policy has that already.
func (w *writing) tighten(made *comparison, r *write) bool {
	have, want := made.have[r.update.uuid], made.want[r.update.uuid]
	if have == nil || want == nil {
		return false
	}
	between := *have
	between.FirewallRuleRefs = w.present(made.stricter(have, want))
	fields, err := tungsten.Diff(have, &between)
	if err != nil || len(fields) == 0 {
		return false
	}
	r.update = &update{r.update.kind, r.update.uuid, fields}
	return true
}

func (w *writing) anyAbsent(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return w.absent[id] })
}

// without removes references to absent rules and policies from what is sent. It returns false if they cannot be left out: others of an
// ordered list would decide instead of a rule that denies.
func (w *writing) without(made *comparison, r *write) bool {
	switch {
	case r.create != nil && (r.create.Kind == tungsten.KindFirewallPolicy || r.create.Kind == tungsten.KindApplicationPolicySet):
		o := *r.create
		o.FirewallRuleRefs, o.FirewallPolicyRefs = w.present(o.FirewallRuleRefs), w.present(o.FirewallPolicyRefs)
		for i := range r.create.FirewallRuleRefs {
			if id := r.create.FirewallRuleRefs[i].UUID; w.absent[id] && !passes(made.want[id]) {
				w.close(made.spansOf(r))
			}
		}
		r.create = &o
	case r.update != nil && r.update.kind == tungsten.KindFirewallPolicy && r.update.fields[ruleRefs] != nil:
		want := made.want[r.update.uuid]
		if want == nil || !w.anyAbsent(made.rulesOf(want)) {
			return true
		}
		if r.phase == replaceOrder && slices.ContainsFunc(made.rulesOf(want), func(id string) bool {
			return w.absent[id] && !passes(made.want[id])
		}) {
			return false
		}
		return w.shorten(made, r)
	}
	return true
}

const ruleRefs = "firewall_rule_refs"

// shorten removes absent rules from a list that is sent as it is.
func (w *writing) shorten(made *comparison, r *write) bool {
	var refs []tungsten.Ref
	if json.Unmarshal(r.update.fields[ruleRefs], &refs) != nil {
		return false
	}
	refs = slices.DeleteFunc(refs, func(ref tungsten.Ref) bool {
		return w.absent[made.names.uuid(tungsten.KindFirewallRule, ref.To[len(ref.To)-1])]
	})
	raw, err := json.Marshal(refs)
	if err != nil {
		return false
	}
	next := *r.update
	next.fields = tungsten.Fields{}
	for name, value := range r.update.fields {
		next.fields[name] = value
	}
	next.fields[ruleRefs] = raw
	r.update = &next
	return true
}

func (w *writing) present(refs []tungsten.Ref) []tungsten.Ref {
	return slices.DeleteFunc(slices.Clone(refs), func(ref tungsten.Ref) bool { return w.absent[ref.UUID] })
}

// report reports an op that was not written with the plan.
func (w *writing) report(op *backends.Op, r *write, why string, harmless bool) {
	of := op.Kind + " " + op.Name
	if w.of != nil {
		if rule := w.of.made.ruleOf(r); rule != nil {
			of = rule.Annotations.Get(annotationFor) // the policy
		}
	}
	w.reports = append(w.reports, backends.Skip{
		Intent: of, Reason: fmt.Sprintf("%s %s %s: %s", op.Verb, op.Kind, op.Name, why), InEffect: harmless,
	})
}
