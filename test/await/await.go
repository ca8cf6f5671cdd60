// Package await lets a test wait for what other goroutines and programs do: for as long as the test program may run, so that
// no busy machine makes the test fail.
package await

import (
	"context"
	"testing"
	"time"
)

// The time between two looks starts at shortest and doubles until it is longest.
const (
	shortest = time.Millisecond
	longest  = 64 * time.Millisecond
)

// True waits until cond returns true, which it calls in the test's own goroutine. The test fails, and says what it waited
// for, shortly before `go test -timeout` would end the program. Nothing of this package works in a bubble of
// testing/synctest, whose clock is another one.
func True(t testing.TB, cond func() bool, format string, args ...any) {
	t.Helper()
	poll(t, cond, func() { t.Fatalf("waited in vain: "+format, args...) })
}

// NoError waits until f returns nil, and fails like True with the last error.
func NoError(t testing.TB, f func() error, format string, args ...any) {
	t.Helper()
	var err error
	poll(t, func() bool { err = f(); return err == nil }, func() {
		t.Helper()
		t.Fatalf("waited in vain: "+format+": %v", append(args, err)...)
	})
}

// Context returns a context that ends shortly before the test program would be ended, and with the test.
func Context(t testing.TB) context.Context {
	ctx := t.Context()
	if end, ok := End(t); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		t.Cleanup(cancel)
	}
	return ctx
}

// End is the time at which waits end, and whether there is one: without `go test -timeout`, and in benchmarks, there is none.
func End(t testing.TB) (time.Time, bool) {
	timed, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return time.Time{}, false
	}
	deadline, ok := timed.Deadline()
	if !ok {
		return time.Time{}, false
	}
	// What is left has to do for the other tests to be told apart from this one, and for cleaning up.
	return deadline.Add(-min(20*time.Second, time.Until(deadline)/10)), true
}

func poll(t testing.TB, cond func() bool, fail func()) {
	t.Helper()
	end, ends := End(t)
	for pause := shortest; !cond(); pause = min(2*pause, longest) {
		if ends && time.Now().After(end) || t.Context().Err() != nil {
			fail()
		}
		time.Sleep(pause)
	}
}
