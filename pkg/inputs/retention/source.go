package retention

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// Source is a source that keeps what went missing from another one. Make it with NewSource. One reader may take changes;
// the other methods are safe for concurrent use.
type Source struct {
	source.Source

	mu       sync.Mutex
	ledger   *Ledger
	released map[object.Ref]bool // by Approve or Forget, and not taken yet
}

var (
	_ source.Source = (*Source)(nil)
	_ source.Holder = (*Source)(nil)
)

// NewSource makes a source with the objects of inner that keeps missing objects according to opts.
func NewSource(inner source.Source, opts Options) *Source {
	return &Source{Source: inner, ledger: NewLedger(opts), released: map[object.Ref]bool{}}
}

// Drain takes the references of objects that may have appeared, changed or gone.
func (s *Source) Drain() []object.Ref {
	synced := s.Synced() // first: whatever is missing after that is really missing
	changes := s.Source.Changes()
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref := range s.released {
		changes = append(changes, source.Change{Ref: ref, Gone: source.Deleted})
	}
	clear(s.released)
	return s.ledger.Take(time.Now(), changes, func(ref object.Ref) (source.Held, bool) { return source.Hold(s.Source, ref) }, synced)
}

// Changes is Drain. Objects that are gone were deleted, or their removal is allowed.
func (s *Source) Changes() []source.Change {
	refs := s.Drain()
	changes := make([]source.Change, len(refs))
	for i, ref := range refs {
		changes[i] = source.Change{Ref: ref, Gone: source.Deleted}
	}
	return changes
}

// Get is the object in force under ref, even if it is only kept. An object that went missing since the last Drain still
// exists: it has not been judged.
func (s *Source) Get(ref object.Ref) (runtime.Object, bool) {
	if o, ok := s.Source.Get(ref); ok {
		return o, true
	}
	o, ok := s.inForce(ref)
	if !ok {
		return nil, false
	}
	return o.Object(), true
}

// Hold implements source.Holder.
func (s *Source) Hold(ref object.Ref) (source.Held, bool) {
	if o, ok := source.Hold(s.Source, ref); ok {
		return o, true
	}
	return s.inForce(ref)
}

func (s *Source) inForce(ref object.Ref) (source.Held, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Get(ref)
}

// Refs lists the objects in force as of the last Drain, sorted.
func (s *Source) Refs() []object.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Refs()
}

// Kept lists the objects that are missing from the source but still in force, sorted.
func (s *Source) Kept() []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Kept()
}

// Due is when Drain must be called at the latest even if nothing wakes its reader; false if nothing is pending.
func (s *Source) Due() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Due()
}

// Approve stops keeping objects. The next Drain shows that they are gone; Wake does not announce it.
func (s *Source) Approve(refs []object.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range refs {
		s.released[ref] = true
	}
	s.ledger.Approve(refs)
}
