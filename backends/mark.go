package backends

import "context"

// Mark is a point that the work of a backend passes. Marks are for measuring: nothing depends on them, and a backend may pass none.
type Mark uint8

// The marks.
const (
	Planned  Mark = iota + 1 // Plan knows all operations, and begins to put them into transactions, in a safe order
	Sent                     // Apply has sent a transaction
	Answered                 // Apply has the answer to it
)

// markKey is the key of what WithMarks adds to a context.
type markKey struct{}

// WithMarks returns a context with which Plan and Apply call passed, in their own goroutine, at each mark.
func WithMarks(ctx context.Context, passed func(Mark)) context.Context {
	return context.WithValue(ctx, markKey{}, passed)
}

// Pass calls what WithMarks added, if anything.
func Pass(ctx context.Context, m Mark) {
	if passed, ok := ctx.Value(markKey{}).(func(Mark)); ok {
		passed(m)
	}
}
