package source

import (
	"slices"
	"sync"
	"time"

	"github.com/netloom/netloom/pkg/object"
)

// Inbox collects the objects that may have changed, for one reader. NewInbox makes one.
type Inbox struct {
	wake chan struct{} // of size 1

	mu    sync.Mutex
	dirty map[object.Ref]Change
	since time.Time // when the oldest of them became dirty; zero if there is none
	forks []*Inbox
}

// NewInbox makes an empty inbox.
func NewInbox() *Inbox {
	return &Inbox{wake: make(chan struct{}, 1), dirty: map[object.Ref]Change{}}
}

// Fork returns an inbox for another reader, which collects everything that b collects from now on.
func (b *Inbox) Fork() *Inbox {
	fork := NewInbox()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forks = append(b.forks, fork)
	return fork
}

// Wake receives when there is something to look at.
func (b *Inbox) Wake() <-chan struct{} { return b.wake }

// Drain takes the dirty references, sorted.
func (b *Inbox) Drain() []object.Ref {
	changes := b.Changes()
	refs := make([]object.Ref, len(changes))
	for i, c := range changes {
		refs[i] = c.Ref
	}
	return refs
}

// Changes takes the dirty references, sorted, and reports which deletions were seen.
func (b *Inbox) Changes() []Change {
	b.mu.Lock()
	changes := make([]Change, 0, len(b.dirty))
	for _, c := range b.dirty {
		changes = append(changes, c)
	}
	b.dirty, b.since = map[object.Ref]Change{}, time.Time{}
	b.mu.Unlock()
	slices.SortFunc(changes, func(a, b Change) int { return a.Ref.Compare(b.Ref) })
	return changes
}

// DirtySince returns when the oldest dirty reference became dirty; zero if there is none.
func (b *Inbox) DirtySince() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.since
}

// Mark makes refs dirty and wakes the reader. The objects must be in place first.
func (b *Inbox) Mark(refs ...object.Ref) { b.MarkGone(Missing, refs...) }

// MarkGone is Mark for objects of which it is known how they went.
func (b *Inbox) MarkGone(how Departure, refs ...object.Ref) { b.mark(Change{Gone: how}, refs) }

// mark makes refs dirty and wakes the reader. The last event of an object counts.
func (b *Inbox) mark(c Change, refs []object.Ref) {
	if len(refs) == 0 {
		return
	}
	b.mu.Lock()
	if b.since.IsZero() {
		b.since = time.Now()
	}
	for _, r := range refs {
		c.Ref = r
		b.dirty[r] = c
	}
	for _, f := range b.forks {
		f.mark(c, refs)
	}
	b.mu.Unlock()
	b.Ring()
}

// Ring wakes the readers; it never waits for them.
func (b *Inbox) Ring() {
	b.mu.Lock()
	forks := b.forks
	b.mu.Unlock()
	for _, f := range forks {
		f.Ring()
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
