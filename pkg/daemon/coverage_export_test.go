package daemon

import (
	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/metrics"
	"github.com/netloom/netloom/pkg/reconcile"
)

// WatchCoverage observes one target called ovn.
func WatchCoverage(m *metrics.Metrics, b backends.Backend, log logrus.FieldLogger) (o reconcile.Observer, now func() (backends.Coverage, bool)) {
	w := newCoverageWatch(m, log)
	w.add("ovn", b)
	return w, func() (backends.Coverage, bool) { return w.Coverage("ovn") }
}
