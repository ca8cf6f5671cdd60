package httpbody

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// SendTime is how long sending an answer may take once it is complete.
const SendTime = time.Minute

// RetryAfter is the value of that header in a 503 response, in seconds.
const RetryAfter = "5"

// ErrBusy means that a request has to be repeated later: there are too many of them, or no room for another answer.
var ErrBusy = errors.New("too many large responses in progress; try again later")

// Key identifies equal answers: those of one name and number. A higher number of a name is newer.
type Key struct {
	Name   string
	Number uint64
}

// Options are the limits of a Store. The zero value has the defaults.
type Options struct {
	Builds   int   // concurrent builds; 0 is 1
	Requests int   // requests waiting for an answer or receiving one; 0 is 64
	Bytes    int64 // total stored size of all answers that are cached or being sent; 0 is 64 MiB
	Kept     int   // cached answers that are not being sent; 0 is 32
}

// Store builds answers and caches them. New makes one; it is safe for concurrent use.
type Store struct {
	opts     Options
	building chan struct{} // has an element for each build in progress

	mu       sync.Mutex
	requests int
	bytes    int64 // of all bodies, including unfinished ones
	clock    uint64
	kept     map[string]*body
	making   map[Key]chan struct{} // closed when the build is finished or has failed
}

// New makes an empty store.
func New(opts Options) *Store {
	for _, limit := range []struct {
		of    *int
		usual int
	}{{&opts.Builds, 1}, {&opts.Requests, 64}, {&opts.Kept, 32}} {
		if *limit.of <= 0 {
			*limit.of = limit.usual
		}
	}
	if opts.Bytes <= 0 {
		opts.Bytes = 64 << 20
	}
	return &Store{
		opts: opts, building: make(chan struct{}, opts.Builds), kept: map[string]*body{}, making: map[Key]chan struct{}{},
	}
}

// enter counts a request, and returns false if there are too many.
func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests >= s.opts.Requests {
		return false
	}
	s.requests++
	return true
}

func (s *Store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests--
}

// get returns the answer of a key, which build makes unless it is cached. The caller has to drop it.
func (s *Store) get(ctx context.Context, key Key, build func(io.Writer) error) (*body, error) {
	for {
		b, made, mine := s.find(key)
		switch {
		case b != nil:
			return b, nil
		case mine:
			return s.makeBody(ctx, key, made, build)
		}
		select {
		case <-made:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// find returns the cached answer, or a channel that is closed once it is built; mine means that the caller has to build
// it.
func (s *Store) find(key Key) (b *body, made chan struct{}, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b = s.kept[key.Name]; b != nil && b.number == key.Number {
		s.clock++
		b.used = s.clock
		b.senders++
		return b, nil, false
	}
	if made = s.making[key]; made != nil {
		return nil, made, false
	}
	made = make(chan struct{})
	s.making[key] = made
	return nil, made, true
}

// makeBody builds and caches the answer of a key once there is a free slot.
func (s *Store) makeBody(ctx context.Context, key Key, made chan struct{}, build func(io.Writer) error) (*body, error) {
	defer func() {
		s.mu.Lock()
		delete(s.making, key)
		s.mu.Unlock()
		close(made)
	}()
	select {
	case s.building <- struct{}{}:
		defer func() { <-s.building }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w := &writer{store: s}
	b, err := w.body(build)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.bytes -= w.reserved
		return nil, err
	}
	b.number, b.senders = key.Number, 1
	s.bytes += int64(len(b.data)) - w.reserved
	s.keep(key.Name, b)
	return b, nil
}

// keep caches b in place of an older answer of its name. The caller holds the lock.
func (s *Store) keep(name string, b *body) {
	if old := s.kept[name]; old != nil {
		if old.number > b.number {
			return // only the requests that wait for it use it
		}
		s.forget(name, old)
	}
	for len(s.kept) >= s.opts.Kept && s.evict() {
	}
	s.clock++
	b.kept, b.used = true, s.clock
	s.kept[name] = b
}

// forget removes an answer from the cache. Its bytes count until it is no longer being sent. The caller holds the lock.
func (s *Store) forget(name string, b *body) {
	delete(s.kept, name)
	b.kept = false
	if b.senders == 0 {
		s.bytes -= int64(len(b.data))
	}
}

// evict removes the least recently used answer that is not being sent; it returns false if there is none. The caller
// holds the lock.
func (s *Store) evict() bool {
	var name string
	var oldest *body
	for n, b := range s.kept {
		if b.senders == 0 && (oldest == nil || b.used < oldest.used) {
			name, oldest = n, b
		}
	}
	if oldest == nil {
		return false
	}
	s.forget(name, oldest)
	return true
}

// drop releases what get returned.
func (s *Store) drop(b *body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.senders--; b.senders == 0 && !b.kept {
		s.bytes -= int64(len(b.data))
	}
}

// reserve counts bytes of an unfinished answer, and returns false if they exceed the limit.
func (s *Store) reserve(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes+n > s.opts.Bytes {
		if !s.evict() {
			return false
		}
	}
	s.bytes += n
	return true
}
