package ovsdb

import "context"

// sentKey is the key of what WithSent adds to a context.
type sentKey struct{}

// WithSent returns a context with which Transact calls sent, in its own goroutine, once the request has been encoded and written, or queued behind
// others, and before it waits for the reply. It is not called for a request that is not sent.
func WithSent(ctx context.Context, sent func()) context.Context {
	return context.WithValue(ctx, sentKey{}, sent)
}

// reportSent calls what WithSent added, if anything.
func reportSent(ctx context.Context) {
	if sent, ok := ctx.Value(sentKey{}).(func()); ok {
		sent()
	}
}
