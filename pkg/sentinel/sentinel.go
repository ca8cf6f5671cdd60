// Package sentinel compares a database with the policies of a cluster again and again, beside the controller that writes the
// database, and reports the result as metrics.
package sentinel

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/verify"
)

// Options configures a sentinel.
type Options struct {
	// Compare reads everything again and compares it. An error means that nothing is known.
	Compare  func(context.Context) (*verify.Report, error)
	Interval time.Duration // from the end of a comparison to the start of the next
	// Changed is called with the result of a comparison if it differs from that of the one before, and after the first.
	Changed func(*verify.Report, error)
	Metrics *Metrics
	Log     logrus.FieldLogger
}

// Run compares until ctx ends.
func Run(ctx context.Context, opts Options) {
	var last string
	for {
		report, err := opts.Compare(ctx)
		if ctx.Err() != nil {
			return // interrupted: the result says nothing about the database
		}
		opts.Metrics.observe(report, err, time.Now())
		if text := digest(report, err); text != last {
			last = text
			opts.log(report, err)
			opts.Changed(report, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(opts.Interval):
		}
	}
}

// digest tells results apart.
func digest(report *verify.Report, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return report.Digest()
}

func (o *Options) log(report *verify.Report, err error) {
	if err != nil {
		o.Log.WithError(err).Warn("cannot tell whether the database agrees with the policies")
		return
	}
	log := o.Log.WithFields(logrus.Fields{"opens": report.Opens, "closes": report.Closes, "unknown": len(report.Unknown), "pods": report.Pods})
	if report.Agrees() {
		log.Info("the database agrees with the policies")
		return
	}
	log.Warn("the database does not provably agree with the policies")
}
