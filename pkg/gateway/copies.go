package gateway

import (
	"bytes"
	"context"
	"io"
	"runtime/debug"
	"sync/atomic"
)

// How much memory the copies of bodies may take, in bytes: those of one connection of a client, and all, by the memory that Go may use.
const (
	copiesOfConnection = 1 << 20
	copiesShare        = 16 // of memory
	leastCopies        = 16 << 20
	mostCopies         = 256 << 20
	unknownLength      = 64 << 10 // what is copied of a body whose length the client does not say
)

// budget is memory that copies may still take.
type budget struct{ free atomic.Int64 }

func newBudget(bytes int64) *budget {
	b := &budget{}
	b.free.Store(bytes)
	return b
}

// allCopies is the budget of all connections.
func allCopies() *budget {
	return newBudget(max(leastCopies, min(mostCopies, debug.SetMemoryLimit(-1)/copiesShare)))
}

// take reports whether there were so many bytes, which it takes.
func (b *budget) take(bytes int64) bool {
	if b.free.Add(-bytes) >= 0 {
		return true
	}
	b.give(bytes)
	return false
}

func (b *budget) give(bytes int64) { b.free.Add(bytes) }

type copiesKey struct{}

// withCopies gives a connection a budget of its own.
func withCopies(ctx context.Context) context.Context {
	return context.WithValue(ctx, copiesKey{}, newBudget(copiesOfConnection))
}

// keepBody copies the body of a request, if it is small, so that the request can be sent again when an API server did not process it.
// Other bodies are streamed, and those of streams always are. The caller calls free once the request has ended.
func (g *Gateway) keepBody(x *exchange) (free func()) {
	nothing := func() {}
	r := x.r
	length := r.ContentLength
	if length < 0 {
		length = unknownLength
	}
	own, ok := r.Context().Value(copiesKey{}).(*budget)
	if r.Body == nil || length == 0 || x.streams || !ok || !own.take(length) {
		return nothing
	}
	if !g.copies.take(length) {
		own.give(length)
		return nothing
	}
	free = func() {
		own.give(length)
		g.copies.give(length)
	}
	var text bytes.Buffer
	_, err := text.ReadFrom(io.LimitReader(r.Body, length+1))
	read := io.Reader(bytes.NewReader(text.Bytes()))
	x.r = r.WithContext(r.Context())
	switch {
	case err != nil:
		read = io.MultiReader(read, failing{err}) // so that it fails where it would without a copy
	case int64(text.Len()) > length:
		read = io.MultiReader(read, r.Body)
	default:
		x.r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil }
	}
	x.r.Body = &copied{Reader: read, Closer: r.Body}
	return free
}

// copied is a body whose beginning was read.
type copied struct {
	io.Reader
	io.Closer
}

// failing fails to be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
