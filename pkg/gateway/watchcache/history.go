package watchcache

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// The history of a kind keeps at most this many events, and at most this many bytes of objects in them.
const (
	maxEvents = 4096
	maxBytes  = 64 << 20
)

// errExpired says that the history does not go back to a version.
var errExpired = errors.New("too old resource version")

// state holds the objects of a kind by key, at one version. It is immutable.
type state = iradix.Tree[*object]

// event is one change. old is nil if the object was created; gone if it was deleted, with its last contents.
type event struct {
	version        uint64
	old, now, gone *object
	after          *state

	once   sync.Once
	ending *object // old as of version, for those whose selector it no longer matches
}

// history is the present and the recent past of a kind.
type history struct {
	mu       sync.Mutex
	synced   bool   // the upstream was listed, and followed since
	failed   bool   // it could not be listed at the last attempt
	version  uint64 // of the newest event or bookmark
	current  *state
	oldest   uint64   // events after this version are known
	base     *state   // at oldest
	events   []*event // in order
	bytes    int
	watchers map[scope]map[*watcher]bool
	changed  chan struct{} // closed at the next change of anything above
}

func newHistory() *history {
	return &history{current: iradix.New[*object](), watchers: map[scope]map[*watcher]bool{}, changed: make(chan struct{})}
}

// replace begins a new history. It must follow a reset or be the first.
func (h *history) replace(objects []*object, version uint64) {
	txn := iradix.New[*object]().Txn()
	for _, o := range objects {
		txn.Insert([]byte(o.key), o)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current = txn.Commit()
	h.base, h.version, h.oldest = h.current, version, version
	h.events, h.bytes, h.synced, h.failed = nil, 0, true, false
	h.announce()
}

// put records that an object was created or changed, and remove that it was deleted. Events that are known are ignored:
// the same change may arrive on two watches.
func (h *history) put(o *object)    { h.apply(o, nil) }
func (h *history) remove(o *object) { h.apply(nil, o) }

func (h *history) apply(now, gone *object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	is := now
	if is == nil {
		is = gone
	}
	if !h.synced || is.version <= h.version {
		return
	}
	e := &event{version: is.version, now: now, gone: gone}
	key := []byte(is.key)
	if now != nil {
		h.current, e.old, _ = h.current.Insert(key, now)
	} else {
		h.current, e.old, _ = h.current.Delete(key)
		if e.old == nil {
			e.old = gone
		}
	}
	e.after = h.current
	h.version = e.version
	h.events = append(h.events, e)
	h.bytes += len(is.raw)
	for len(h.events) > maxEvents || h.bytes > maxBytes {
		h.forget()
	}
	h.dispatch(e)
	h.announce()
}

// forget drops the oldest event.
func (h *history) forget() {
	e := h.events[0]
	h.events[0] = nil
	h.events = h.events[1:]
	h.oldest, h.base = e.version, e.after
	if e.now != nil {
		h.bytes -= len(e.now.raw)
	} else {
		h.bytes -= len(e.gone.raw)
	}
}

// progress records that there was no change up to version.
func (h *history) progress(version uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.synced && version > h.version {
		h.version = version
		h.announce()
	}
}

// reset drops everything: what happened is no longer known. All watches end with 410.
func (h *history) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.synced = false
	h.current, h.base, h.events, h.bytes = iradix.New[*object](), nil, nil, 0
	h.endAll(errExpired)
	h.announce()
}

// fail records that the kind cannot be listed.
func (h *history) fail() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = true
	h.announce()
}

func (h *history) announce() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// wait returns when the history satisfies done, which is called with its lock held, or with the error of ctx.
func (h *history) wait(ctx context.Context, done func() bool) error {
	for {
		h.mu.Lock()
		ok, changed := done(), h.changed
		h.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// now returns the present state.
func (h *history) now() (*state, uint64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current, h.version, h.synced
}

// at returns the state at a version.
func (h *history) at(version uint64) (*state, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.synced || version < h.oldest || version > h.version {
		return nil, false
	}
	if i := h.after(version); i > 0 {
		return h.events[i-1].after, true
	}
	return h.base, true
}

// after returns the index of the first event after version.
func (h *history) after(version uint64) int {
	return sort.Search(len(h.events), func(i int) bool { return h.events[i].version > version })
}

// since returns some events after version, or subscribes w to those that come if there are none now.
func (h *history) since(version uint64, w *watcher) ([]*event, error) {
	const atOnce = 256
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.synced || version < h.oldest {
		return nil, fmt.Errorf("%w: %d (%d)", errExpired, version, h.oldest)
	}
	i := h.after(version)
	if i == len(h.events) {
		h.subscribe(w)
		return nil, nil
	}
	return append([]*event(nil), h.events[i:min(len(h.events), i+atOnce)]...), nil
}

// seen returns the object that a watch receives whose selector matched e.old but not e.now.
func (e *event) seen() *object {
	if e.now == nil {
		return e.gone
	}
	e.once.Do(func() {
		o, err := e.old.at(e.version)
		if err != nil {
			o = e.old // parse has read the version, so it is there
		}
		e.ending = o
	})
	return e.ending
}
