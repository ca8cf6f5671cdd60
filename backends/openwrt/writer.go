package openwrt

import (
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/compare"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// mostErrors is how many such errors Apply returns.
const mostErrors = 5

// mostAborted is the number of consecutive aborted requests after which the rest of a module is left for later.
const mostAborted = 3

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
	waits   map[string]bool // services of which nothing is written: no note could be left, or the firewall would open what relies on ipsec
	held    map[string]bool // services of which nothing is deleted or loaded until the next plan: an object will be written once more, a reload failed, or see holdAll
	again   bool            // ipsec was not loaded by the plan before either
}

func (w *writer) use(s *task) { w.run, w.have = s.run, s.run.model.have }

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

// repeated reports whether the device has aborted on the same object before, and records that it did now.
func (w *writer) repeated(k section.Key, o openwrt.Object) bool {
	of := ""
	if o != nil {
		of = section.DigestOf(o)
	}
	before, again := w.b.faulted[k]
	w.b.faulted[k] = of
	return again && before == of
}

// succeeded records that the device handled an op.
func (w *writer) succeeded(s *task) {
	if s.Stage != compare.Reload {
		delete(w.b.faulted, s.Key)
		delete(w.aborted, s.Key.Module())
	}
}

// fail records an error that does not end Apply.
func (w *writer) fail(op *backends.Op, err error) {
	if len(w.errs) < mostErrors {
		w.errs = append(w.errs, fmt.Errorf("%s %s %s: %w", op.Verb, op.Kind, op.Name, err))
	}
}

// wrote records that a service has to be reloaded.
func (w *writer) wrote(service string) {
	if service != "" {
		w.run.wrote[service] = true
		w.b.owes[service] = true
	}
}

// hold leaves the deletions and the reload of a service for the next plan. Objects that take effect at once have no service.
func (w *writer) hold(service string) {
	if service != "" {
		w.held[service] = true
	}
}

// holdAll leaves everything of a service for the next plan.
func (w *writer) holdAll(service string) {
	w.held[service], w.waits[service] = true, true
}

// isHeld reports whether an op is left for the next plan, see held.
func (w *writer) isHeld(s *task) bool {
	return s.Stage == compare.Sweep && w.held[s.Service()] || s.Stage == compare.Reload && w.held[s.Key.Name]
}

// unloaded reports whether a service has changes that were not reloaded or not written. The cause has been recorded as an error.
func (w *writer) unloaded(service string) bool {
	return w.run.wrote[service] || w.held[service] || w.waits[service]
}

// gaveUp reports whether an op is left for later, because the device aborts on whatever is sent for its module.
func (w *writer) gaveUp(s *task) bool {
	module := s.Key.Module()
	if s.Stage == compare.Reload || w.aborted[module] < mostAborted {
		return false
	}
	w.refuse(s, fmt.Sprintf("not written: the device aborts on other objects of %s, see them", module), true)
	return true
}
