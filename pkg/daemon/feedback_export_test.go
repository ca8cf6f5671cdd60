package daemon

import (
	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/metrics"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
)

// NewOver makes a daemon that keeps a target that a test has made, and tells people of policies.
func NewOver(opts Options, target *builtin.Target, log logrus.FieldLogger) (*Daemon, error) {
	d := &Daemon{opts: opts, log: log, source: opts.Source, metrics: metrics.New()}
	d.pipeline = pipeline.New(opts.Source, opts.translation(), log)
	d.coverage = newCoverageWatch(d.metrics, log)
	d.observe = reconcile.Observers{d.metrics, d.coverage, &keptObserver{report: d.reportKept}}
	d.metrics.Unenforced(d.unenforced)
	d.add(target)
	var err error
	d.feedback, err = newFeedback(d)
	return d, err
}

// ManagerOf is the field manager of a node's netloom.
func ManagerOf(node string) string { return managerOf(node) }

// Intervals of feedback.
const (
	SizeInterval = sizeInterval
	StaleAfter   = staleAfter
	FeedbackRate = feedbackRate
)

// Wake has the loops of all targets plan.
func (d *Daemon) Wake() {
	for _, t := range d.targets {
		t.loop.Wake()
	}
}
