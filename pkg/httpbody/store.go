package httpbody

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// SendTime is how long an answer may take to be sent, from when it is there.
const SendTime = time.Minute

// RetryAfter is the value of that header with a 503, in seconds.
const RetryAfter = "5"

// ErrBusy says that a request has to come again: there are too many of them, or no room for another answer.
var ErrBusy = errors.New("too many large responses in progress; try again later")

// Key says which answers are the same: those of one name and number. A higher number of a name is newer.
type Key struct {
	Name   string
	Number uint64
}

// Options are the limits of a Store. The zero value has the defaults.
type Options struct {
	Builds   int   // answers that are made at a time; 0 is 1
	Requests int   // that wait for an answer or are sent one; 0 is 64
	Bytes    int64 // of all answers that are kept or being sent, as they are kept; 0 is 64 MiB
	Kept     int   // answers that are kept though nobody is sent them; 0 is 32
}

// Store makes answers and keeps them. New makes one; it is safe for concurrent use.
type Store struct {
	opts     Options
	building chan struct{} // has an element for each answer that is being made

	mu       sync.Mutex
	requests int
	bytes    int64 // of all bodies, those being made included
	clock    uint64
	kept     map[string]*body
	making   map[Key]chan struct{} // closed when it is made, or has failed
}

// New makes a store that keeps nothing yet.
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

// enter counts a request, and is false where there are too many.
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

// get returns the answer of a key, which is made by build unless it is there. The caller has to drop it.
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

// find returns the answer that is there, or a channel that is closed once it is; mine says that it is up to the caller to make
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

// makeBody makes the answer of a key when it is its turn, and keeps it.
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

// keep remembers b in place of an older answer of its name. The caller holds the lock.
func (s *Store) keep(name string, b *body) {
	if old := s.kept[name]; old != nil {
		if old.number > b.number {
			return // it is for those who asked for it, and goes with them
		}
		s.forget(name, old)
	}
	for len(s.kept) >= s.opts.Kept && s.evict() {
	}
	s.clock++
	b.kept, b.used = true, s.clock
	s.kept[name] = b
}

// forget keeps an answer no longer. Its bytes count until nobody is sent them. The caller holds the lock.
func (s *Store) forget(name string, b *body) {
	delete(s.kept, name)
	b.kept = false
	if b.senders == 0 {
		s.bytes -= int64(len(b.data))
	}
}

// evict forgets the answer that was asked for longest ago among those that nobody is being sent; false where there is none. The
// caller holds the lock.
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

// drop ends what get began.
func (s *Store) drop(b *body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.senders--; b.senders == 0 && !b.kept {
		s.bytes -= int64(len(b.data))
	}
}

// reserve counts bytes of an answer that is being made, and is false where they do not fit.
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
