//go:build e2e

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
)

// stage lets labs, which are made for tests, run outside of one. A failure ends what is under way by a panic with a
// stageFailure, as a test would end.
type stage struct {
	testing.TB

	ctx     context.Context //nolint:containedctx // as testing.TB has it
	cancel  context.CancelFunc
	cleanup []func()
	failed  bool
}

// stageFailure is what could not be done.
type stageFailure string

// Error is the failure.
func (f stageFailure) Error() string { return string(f) }

func newStage(ctx context.Context) *stage {
	s := &stage{}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// close undoes what was done, the last first.
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

// Context ends when the cluster is to be taken down.
func (s *stage) Context() context.Context { return s.ctx }

// Cleanup remembers what is to be undone.
func (s *stage) Cleanup(f func()) { s.cleanup = append(s.cleanup, f) }

// Failed says whether something could not be done.
func (s *stage) Failed() bool { return s.failed }

// Fatal ends what is under way.
func (s *stage) Fatal(args ...any) {
	s.failed = true
	panic(stageFailure(fmt.Sprint(args...)))
}

// Fatalf ends what is under way.
func (s *stage) Fatalf(format string, args ...any) { s.Fatal(fmt.Sprintf(format, args...)) }

// Logf tells what a person needs who looks for the cause of a failure.
func (s *stage) Logf(format string, args ...any) { _, _ = fmt.Fprintf(os.Stderr, format+"\n", args...) }

// TempDir makes a directory that goes with the cluster.
func (s *stage) TempDir() string {
	dir, err := os.MkdirTemp("", "netloom-cluster-")
	if err != nil {
		s.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // for who runs without rights
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
