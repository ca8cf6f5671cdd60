package daemon

import (
	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/feedback/target"
	"github.com/netloom/netloom/pkg/inputs/resolver"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
)

// NewOver makes a daemon over a target made by a test.
func NewOver(opts Options, over *builtin.Target, log logrus.FieldLogger) *Daemon {
	d := &Daemon{opts: opts, log: log, source: opts.Source, metrics: metrics.New()}
	d.pipeline = pipeline.New(opts.Source, opts.translation(), log)
	d.resolver = resolver.New(opts.Resolver, d.pipeline, d.metrics, log)
	d.coverage = target.NewCoverage(d.metrics, log)
	d.memory = newMemoryReturner(log)
	d.observe = reconcile.Observers{d.metrics, d.coverage, &keptObserver{report: d.reportKept}, d.memory}
	d.metrics.Unenforced(d.unenforced)
	d.pipeline.OnPublish(d.publish)
	d.add(over)
	return d
}
