package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Source delivers cluster objects. All methods are safe for concurrent use; Run is called once.
type Source interface {
	// Run keeps the objects current until ctx ends. It returns an error only when the source cannot work at all; what
	// goes wrong later is a Problem, and tried again.
	Run(ctx context.Context) error
	// Wake receives when an object became dirty, the problems changed or the source synced since it last received.
	Wake() <-chan struct{}
	// Synced says whether everything there was at the start has been read.
	Synced() bool
	// Drain takes the references of objects that may have appeared, changed or gone since the last call, each once,
	// sorted. Before the source has synced they are some of all there are; when Synced was true before the call, none
	// of those there were at the start is still to come.
	Drain() []Ref
	// DirtySince is when the oldest reference became dirty that Drain has not handed out yet; zero when there is none.
	DirtySince() time.Time
	// Get is the current state of an object, false when there is none. The object is shared: it must not be changed.
	Get(ref Ref) (runtime.Object, bool)
	// Problems lists the present faults, sorted.
	Problems() []Problem
	// Withheld lists the kinds that could not be read even once, because the right to is missing or the API does not
	// have them, sorted. Synced does not wait for them: that none of their objects is delivered means nothing. Only kinds
	// without which nothing opens and nothing is deleted can be withheld.
	Withheld() []Kind
}

var (
	_ Source = (*Directory)(nil)
	_ Source = (*Kubernetes)(nil)
)

// inbox holds what a source has to tell its reader.
type inbox struct {
	wake chan struct{} // of size 1

	mu    sync.Mutex
	dirty map[Ref]struct{}
	since time.Time // when the oldest of them became dirty; zero while there is none
}

func newInbox() *inbox {
	return &inbox{wake: make(chan struct{}, 1), dirty: map[Ref]struct{}{}}
}

// Wake receives when there is something to look at.
func (b *inbox) Wake() <-chan struct{} { return b.wake }

// Drain takes the dirty references, sorted.
func (b *inbox) Drain() []Ref {
	b.mu.Lock()
	refs := make([]Ref, 0, len(b.dirty))
	for r := range b.dirty {
		refs = append(refs, r)
	}
	b.dirty, b.since = map[Ref]struct{}{}, time.Time{}
	b.mu.Unlock()
	slices.SortFunc(refs, Ref.Compare)
	return refs
}

// DirtySince is when the oldest dirty reference became so; zero when there is none.
func (b *inbox) DirtySince() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.since
}

// mark makes refs dirty and rings. The objects must be in place before.
func (b *inbox) mark(refs ...Ref) {
	if len(refs) == 0 {
		return
	}
	b.mu.Lock()
	if b.since.IsZero() {
		b.since = time.Now()
	}
	for _, r := range refs {
		b.dirty[r] = struct{}{}
	}
	b.mu.Unlock()
	b.ring()
}

// ring wakes the reader; it never waits for it.
func (b *inbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
