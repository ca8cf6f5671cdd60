//go:build e2e

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
)

// stage lets labs, which are made for tests, run outside of a test. A failure ends the operation by a panic with a
// stageFailure, as a test would end.
type stage struct {
	testing.TB

	ctx     context.Context //nolint:containedctx // as in testing.TB
	cancel  context.CancelFunc
	cleanup []func()
	failed  bool
}

// stageFailure is the message of a failure.
type stageFailure string

// Error is the message.
func (f stageFailure) Error() string { return string(f) }

func newStage(ctx context.Context) *stage {
	s := &stage{}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// close runs the cleanups, the last first.
func (s *stage) close() {
	s.cancel()
	for _, f := range slices.Backward(s.cleanup) {
		f()
	}
}

// Helper does nothing.
func (s *stage) Helper() {}

// Name is for messages.
func (s *stage) Name() string { return "cluster" }

// Context ends when the cluster is to be stopped.
func (s *stage) Context() context.Context { return s.ctx }

// Cleanup registers a cleanup.
func (s *stage) Cleanup(f func()) { s.cleanup = append(s.cleanup, f) }

// Failed reports whether there was a failure.
func (s *stage) Failed() bool { return s.failed }

// Fatal ends the operation.
func (s *stage) Fatal(args ...any) {
	s.failed = true
	panic(stageFailure(fmt.Sprint(args...)))
}

// Fatalf ends the operation.
func (s *stage) Fatalf(format string, args ...any) { s.Fatal(fmt.Sprintf(format, args...)) }

// Logf prints details for finding the cause of a failure.
func (s *stage) Logf(format string, args ...any) { _, _ = fmt.Fprintf(os.Stderr, format+"\n", args...) }

// TempDir makes a directory that is removed with the cluster.
func (s *stage) TempDir() string {
	dir, err := os.MkdirTemp("", "netloom-cluster-")
	if err != nil {
		s.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // for programs that run as another user
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
