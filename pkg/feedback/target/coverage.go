// Package target tracks which of the pods that policies select the targets protect, and reports it to the metrics and the
// log.
package target

import (
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

// Coverage observes the loops for which selected pods the targets protect. Everything that reports coverage reads it here: a
// pod whose logical port was found counts as protected once it has been written; one whose port is gone stops counting at
// once. Coverage is only known for targets that implement backends.Coverer.
type Coverage struct {
	reconcile.Observers // nil: events that are not overridden are ignored

	metrics *metrics.Metrics
	log     logrus.FieldLogger
	changed []func(target string, was, now backends.Gaps)

	mu sync.Mutex
	of map[string]*covered
}

// covered is the coverage of one target as last reported.
type covered struct {
	backend backends.Backend
	known   bool // something was written, or could not be
	now     backends.Coverage
	opened  backends.Gaps // by others who contest the target
	warned  int           // how many endpoints and ports the last warning counted; 0 once all are found
}

// NewCoverage observes no target yet.
func NewCoverage(m *metrics.Metrics, log logrus.FieldLogger) *Coverage {
	return &Coverage{metrics: m, log: log, of: map[string]*covered{}}
}

// OnChange registers f to be called when the missing endpoints of a target have changed. f must not block. It has to be
// called before the first loop runs.
func (w *Coverage) OnChange(f func(target string, was, now backends.Gaps)) {
	w.changed = append(w.changed, f)
}

// Add has a target watched from its next plan on.
func (w *Coverage) Add(target string, b backends.Backend) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of[target] = &covered{backend: b}
}

// Forget drops the coverage of a target that another instance writes to now.
func (w *Coverage) Forget(target string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.of[target]; c != nil {
		*c = covered{backend: c.backend}
	}
}

// Of returns the coverage of a target as reported; false while it is not known.
func (w *Coverage) Of(target string) (backends.Coverage, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.of[target]; c != nil && c.known {
		return c.now, true
	}
	return backends.Coverage{}, false
}

// Planned reports coverage that got worse. Improvements have not been written yet, and the state of the target before the first write only
// matters if that write fails.
func (w *Coverage) Planned(target string, _ *backends.Plan, _ time.Duration) {
	w.update(target, func(c *covered, now backends.Coverage) bool { return c.known && worse(c.now, now) })
}

// Failed reports what the target has, although it should have more.
func (w *Coverage) Failed(target string, _ reconcile.Phase, _ error) {
	w.update(target, func(c *covered, now backends.Coverage) bool { return !c.known || worse(c.now, now) })
}

// Disturbed reports which pods are not protected because others contest the target.
func (w *Coverage) Disturbed(target string, d *reconcile.Disturbance) {
	var opened backends.Gaps
	if d != nil && d.Contested && d.Changed.Opened != nil {
		opened = d.Changed.Opened()
	}
	w.update(target, func(c *covered, _ backends.Coverage) bool {
		was := c.opened
		c.opened = opened
		return was != opened
	})
}

// Converged reports the present coverage.
func (w *Coverage) Converged(target string, _ intent.Revision, _ int) {
	w.update(target, func(*covered, backends.Coverage) bool { return true })
}

// update reports the coverage of a target if that is asked for.
func (w *Coverage) update(target string, asked func(c *covered, now backends.Coverage) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.of[target]
	if c == nil {
		return
	}
	now, ok := backends.InForceOf(c.backend)
	if !ok || !asked(c, now) {
		return
	}
	now.Missing = now.Missing.With(slices.Collect(c.opened.All()), nil)
	was := c.now.Missing
	c.now, c.known = now, true
	w.metrics.Covered(target, now)
	c.report(w.log.WithField("target", target))
	if was == now.Missing {
		return
	}
	for _, changed := range w.changed {
		changed(target, was, now.Missing)
	}
}

// worse reports whether fewer pods are protected in now, or more of them only by kept ports.
func worse(was, now backends.Coverage) bool {
	return now.Missing.Len() > was.Missing.Len() || now.Kept+now.Held > was.Kept+was.Held
}

// report logs that pods are not found, again whenever their number has doubled, and that all are found again. The lock is
// held.
func (c *covered) report(log logrus.FieldLogger) {
	lacking := c.now.Missing.Len() + c.now.Kept + c.now.Held
	log = log.WithFields(logrus.Fields{"selected": c.now.Selected, "enforced": c.now.Enforced()})
	switch {
	case lacking > 2*c.warned:
		c.warned = lacking
		log.WithFields(logrus.Fields{"missing": c.now.Missing.Text(), "kept": c.now.Kept + c.now.Held, "hint": c.now.Hint}).
			Warn("pods that policies select are not protected by the target")
	case lacking == 0 && c.warned > 0:
		c.warned = 0
		log.Info("all pods that policies select are protected by the target")
	}
}
