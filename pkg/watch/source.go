package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/object"
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
	Drain() []object.Ref
	// Changes is Drain with what is known of how objects went.
	Changes() []Change
	// DirtySince is when the oldest reference became dirty that Drain has not handed out yet; zero when there is none.
	DirtySince() time.Time
	// Get is the current state of an object, false when there is none. The object is shared: it must not be changed.
	Get(ref object.Ref) (runtime.Object, bool)
	// Problems lists the present faults, sorted.
	Problems() []object.Problem
	// Withheld lists the kinds that could not be read even once, because the right to is missing or the API does not
	// have them, sorted. Synced does not wait for them: that none of their objects is delivered means nothing. Only kinds
	// without which nothing opens and nothing is deleted can be withheld.
	Withheld() []Kind
}

// Change is a reference that a source marked dirty.
type Change struct {
	Ref object.Ref
	// Deleted says, of an object that is there no more, that its deletion was seen: a DELETE event of the API, or what it
	// was derived from. Otherwise it is only missing from what was listed last. It means nothing of an object that is there.
	Deleted bool
}

var (
	_ Source = (*Directory)(nil)
	_ Source = (*Kubernetes)(nil)
)

// inbox holds what a source has to tell its reader.
type inbox struct {
	wake chan struct{} // of size 1

	mu    sync.Mutex
	dirty map[object.Ref]bool // whether the deletion of the object was seen
	since time.Time           // when the oldest of them became dirty; zero while there is none
}

func newInbox() *inbox {
	return &inbox{wake: make(chan struct{}, 1), dirty: map[object.Ref]bool{}}
}

// Wake receives when there is something to look at.
func (b *inbox) Wake() <-chan struct{} { return b.wake }

// Drain takes the dirty references, sorted.
func (b *inbox) Drain() []object.Ref {
	changes := b.Changes()
	refs := make([]object.Ref, len(changes))
	for i, c := range changes {
		refs[i] = c.Ref
	}
	return refs
}

// Changes takes the dirty references, sorted, with what is known of how objects went.
func (b *inbox) Changes() []Change {
	b.mu.Lock()
	changes := make([]Change, 0, len(b.dirty))
	for r, deleted := range b.dirty {
		changes = append(changes, Change{Ref: r, Deleted: deleted})
	}
	b.dirty, b.since = map[object.Ref]bool{}, time.Time{}
	b.mu.Unlock()
	slices.SortFunc(changes, func(a, b Change) int { return a.Ref.Compare(b.Ref) })
	return changes
}

// DirtySince is when the oldest dirty reference became so; zero when there is none.
func (b *inbox) DirtySince() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.since
}

// mark makes refs dirty and rings. The objects must be in place before.
func (b *inbox) mark(refs ...object.Ref) { b.take(false, refs) }

// markDeleted is mark for objects whose deletion was seen.
func (b *inbox) markDeleted(refs ...object.Ref) { b.take(true, refs) }

// take makes refs dirty and rings. What was seen last of an object counts.
func (b *inbox) take(deleted bool, refs []object.Ref) {
	if len(refs) == 0 {
		return
	}
	b.mu.Lock()
	if b.since.IsZero() {
		b.since = time.Now()
	}
	for _, r := range refs {
		b.dirty[r] = deleted
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
