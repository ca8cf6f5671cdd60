package upstream

import (
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Streams are responses without an end: watches, logs that are followed, and connections that switched protocols.
type Streams struct {
	mu     sync.Mutex
	open   map[*stream]struct{}
	ending bool          // End was called
	within time.Duration // what it was called with
}

func newStreams() *Streams { return &Streams{open: map[*stream]struct{}{}} }

type streamKey struct{}

// WithStream marks a request whose response is a stream.
func WithStream(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamKey{}, true)
}

func isStream(ctx context.Context) bool {
	marked, _ := ctx.Value(streamKey{}).(bool)
	return marked
}

// add has the body of a response end with the streams.
func (s *Streams) add(response *http.Response) {
	one := &stream{ReadCloser: response.Body, of: s}
	s.mu.Lock()
	s.open[one] = struct{}{}
	ending, within := s.ending, s.within
	s.mu.Unlock()
	if ending { // its request was on the way meanwhile
		one.endWithin(within)
	}
	if w, ok := response.Body.(io.ReadWriteCloser); ok {
		response.Body = &duplexStream{stream: one, Writer: w}
		return
	}
	response.Body = one
}

// Len returns how many streams are open.
func (s *Streams) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// End ends every stream, each at a random time within the given duration: clients reconnect spread over it. Streams that open
// later end, too.
func (s *Streams) End(within time.Duration) {
	s.mu.Lock()
	s.ending, s.within = true, within
	all := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, one := range all {
		one.endWithin(within)
	}
}

// stream is the body of one response. After end it reads as if the API server had ended it, so that clients see an orderly
// end and not an error.
type stream struct {
	io.ReadCloser
	of    *Streams
	ended atomic.Bool
	close sync.Once
}

// endWithin has the stream end at a random time within a duration.
func (s *stream) endWithin(d time.Duration) {
	if d <= 0 {
		s.end()
		return
	}
	time.AfterFunc(rand.N(d), s.end) //nolint:gosec // it spreads load, and protects nothing
}

func (s *stream) end() {
	s.ended.Store(true)
	s.close.Do(func() { _ = s.ReadCloser.Close() })
}

// Read reads until the stream ends.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil && s.ended.Load() {
		err = io.EOF
	}
	return n, err
}

// Close closes the stream, and forgets it.
func (s *stream) Close() error {
	s.of.mu.Lock()
	delete(s.of.open, s)
	s.of.mu.Unlock()
	var err error
	s.close.Do(func() { err = s.ReadCloser.Close() })
	return err
}

// duplexStream is the body of a response that switched protocols.
type duplexStream struct {
	*stream
	io.Writer
}
