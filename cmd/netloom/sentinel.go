package main

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/answers/verify"
)

// sentinel repeatedly compares a database with the policies of a cluster, alongside the controller that writes the database, and
// reports the result as metrics.
type sentinel struct {
	// compare reads everything again and compares it. An error means that nothing is known.
	compare  func(context.Context) (*verify.Report, error)
	interval time.Duration // from the end of a comparison to the start of the next
	// changed is called with the result of a comparison if it differs from that of the one before, and after the first.
	changed func(*verify.Report, error)
	metrics *sentinelMetrics
	log     logrus.FieldLogger
}

// run compares until ctx ends.
func (s *sentinel) run(ctx context.Context) {
	var last string
	for {
		report, err := s.compare(ctx)
		if ctx.Err() != nil {
			return // interrupted: the result says nothing about the database
		}
		s.metrics.observe(report, err, time.Now())
		if text := digest(report, err); text != last {
			last = text
			s.report(report, err)
			s.changed(report, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.interval):
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

func (s *sentinel) report(report *verify.Report, err error) {
	if err != nil {
		s.log.WithError(err).Warn("cannot tell whether the database agrees with the policies")
		return
	}
	log := s.log.WithFields(logrus.Fields{"opens": report.Opens, "closes": report.Closes, "unknown": len(report.Unknown), "pods": report.Pods})
	if report.Agrees() {
		log.Info("the database agrees with the policies")
		return
	}
	log.Warn("the database does not provably agree with the policies")
}
