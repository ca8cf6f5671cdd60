package kube

import (
	"fmt"

	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
)

// logSink has client-go log to logrus, at debug level: what matters is reported as a Problem.
type logSink struct{ log logrus.FieldLogger }

// Init does nothing: client-go's own call depth is of no interest.
func (s *logSink) Init(logr.RuntimeInfo) {}

// Enabled leaves out client-go's tracing.
func (s *logSink) Enabled(level int) bool { return level <= 2 }

// Info logs what client-go does.
func (s *logSink) Info(_ int, msg string, kv ...any) { s.with(kv).log.Debug(msg) }

// Error logs the errors of client-go.
func (s *logSink) Error(err error, msg string, kv ...any) { s.with(kv).log.WithError(err).Debug(msg) }

// WithValues adds fields.
func (s *logSink) WithValues(kv ...any) logr.LogSink { return s.with(kv) }

// WithName ignores the name: the fields show where a line is from.
func (s *logSink) WithName(string) logr.LogSink { return s }

func (s *logSink) with(kv []any) *logSink {
	if len(kv) == 0 {
		return s
	}
	fields := logrus.Fields{}
	for i := 0; i+1 < len(kv); i += 2 {
		fields[fmt.Sprint(kv[i])] = kv[i+1]
	}
	return &logSink{log: s.log.WithFields(fields)}
}
