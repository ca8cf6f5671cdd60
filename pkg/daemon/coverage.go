package daemon

import (
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/metrics"
	"github.com/netloom/netloom/pkg/reconcile"
)

// coverageWatch observes the loops for which selected pods the targets protect. Everything that reports it asks here: a pod
// whose logical port was found counts as protected once it was written, one whose port is gone at once. Coverage is only known
// of targets that implement backends.Coverer.
type coverageWatch struct {
	reconcile.Observers // nil: of what is not overridden nothing is noted

	metrics *metrics.Metrics
	log     logrus.FieldLogger
	// changed are called when other endpoints of a target are missing than before. They must not block.
	changed []func(target string, was, now backends.Gaps)

	mu sync.Mutex
	of map[string]*covered
}

// covered is how the coverage of one target was reported last.
type covered struct {
	backend backends.Backend
	known   bool // there was a plan
	now     backends.Coverage
	warned  int // how many endpoints and ports the last warning counted; 0 since all were found
}

func newCoverageWatch(m *metrics.Metrics, log logrus.FieldLogger) *coverageWatch {
	return &coverageWatch{metrics: m, log: log, of: map[string]*covered{}}
}

// add has a target watched from its next plan on.
func (w *coverageWatch) add(target string, b backends.Backend) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of[target] = &covered{backend: b}
}

// rest forgets how a target is covered, which another instance writes to now.
func (w *coverageWatch) rest(target string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.of[target]; c != nil {
		*c = covered{backend: c.backend}
	}
}

// Coverage is the coverage of a target as it is reported; false while it is not known.
func (w *coverageWatch) Coverage(target string) (backends.Coverage, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.of[target]; c != nil && c.known {
		return c.now, true
	}
	return backends.Coverage{}, false
}

// Planned reports what became worse. What became better is not written yet.
func (w *coverageWatch) Planned(target string, _ *backends.Plan, _ time.Duration) {
	w.update(target, false)
}

// Converged reports how things are.
func (w *coverageWatch) Converged(target string, _ intent.Revision, _ int) { w.update(target, true) }

func (w *coverageWatch) update(target string, written bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.of[target]
	if c == nil {
		return
	}
	now, ok := backends.CoverageOf(c.backend)
	if !ok || c.known && !written && !worse(c.now, now) {
		return
	}
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

// worse says whether fewer pods are protected in now, or more only by what is kept.
func worse(was, now backends.Coverage) bool {
	return now.Missing.Len() > was.Missing.Len() || now.Kept+now.Held > was.Kept+was.Held
}

// report logs that more pods are not found, and that all are again. While they become more it says so whenever they have
// doubled. The lock is held.
func (c *covered) report(log logrus.FieldLogger) {
	lacking := c.now.Missing.Len() + c.now.Kept + c.now.Held
	log = log.WithFields(logrus.Fields{"selected": c.now.Selected, "enforced": c.now.Enforced()})
	switch {
	case lacking > 2*c.warned:
		c.warned = lacking
		log.WithFields(logrus.Fields{"missing": c.now.Missing.Text(), "kept": c.now.Kept + c.now.Held, "hint": c.now.Hint}).
			Warn("pods that policies select are not found in the target")
	case lacking == 0 && c.warned > 0:
		c.warned = 0
		log.Info("all pods that policies select are found in the target")
	}
}

// unprotected says for people which selected pods the targets do not protect, or only by what was kept; a line for each
// fault. Without names it counts them: whoever can reach a pod learns from it which others are open. It is empty while another
// instance writes, and for targets that cannot tell.
func (d *Daemon) unprotected(names bool) []string {
	if d.election != nil && !d.election.Leading() {
		return nil
	}
	var lines []string
	for _, t := range d.targets {
		c, _ := d.coverage.Coverage(t.Name)
		faults := c.Faults()
		if !names {
			faults = c.Counts()
		}
		for _, fault := range faults {
			lines = append(lines, "degraded: "+t.Name+": "+fault)
		}
	}
	return lines
}
