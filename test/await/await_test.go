package await_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
)

// test is a test that is about to end, and notes how it fails.
type test struct {
	testing.TB
	deadline time.Time
	said     string
}

func (t *test) Deadline() (time.Time, bool) { return t.deadline, true }

func (t *test) Fatalf(format string, args ...any) {
	t.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// said returns the message that f fails with in a test that ends soon.
func said(t *testing.T, f func(t testing.TB)) string {
	t.Helper()
	inner := &test{TB: t, deadline: time.Now().Add(20 * time.Millisecond)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(inner)
	}()
	<-done
	return inner.said
}

func TestWaitsUntilItIsTrue(t *testing.T) {
	t.Parallel()
	left := 5
	await.True(t, func() bool { left--; return left == 0 }, "a countdown")
	require.Zero(t, left)
	require.Empty(t, said(t, func(t testing.TB) { await.True(t, func() bool { return true }, "the truth") }))
}

func TestFailsBeforeTheProgramWouldBeEnded(t *testing.T) {
	t.Parallel()
	require.Equal(t, "waited in vain: port 7", said(t, func(t testing.TB) {
		await.True(t, func() bool { return false }, "port %d", 7)
	}))
	require.Equal(t, "waited in vain: port 7: closed", said(t, func(t testing.TB) {
		await.NoError(t, func() error { return errors.New("closed") }, "port %d", 7)
	}))
}

func TestContextEndsBeforeTheProgram(t *testing.T) {
	t.Parallel()
	deadline := time.Now().Add(time.Hour)
	ctx := await.Context(&test{TB: t, deadline: deadline})
	end, ok := ctx.Deadline()
	require.True(t, ok)
	require.True(t, end.Before(deadline))
	require.Less(t, deadline.Sub(end), time.Minute)

	require.Empty(t, said(t, func(t testing.TB) {
		ctx := await.Context(t)
		<-ctx.Done()
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
	}))
}
