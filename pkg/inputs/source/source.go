package source

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/object"
)

// Source delivers cluster objects. All methods are safe for concurrent use; Run is called once.
type Source interface {
	// Run keeps the objects current until ctx ends. It returns an error only if the source cannot work at all; later faults
	// are Problems, and are retried.
	Run(ctx context.Context) error
	// Wake receives if an object became dirty, the problems changed or the source synced since it last received.
	Wake() <-chan struct{}
	// Synced reports whether everything that existed at the start has been read.
	Synced() bool
	// Drain takes the references of objects that may have appeared, changed or gone since the last call, each once, sorted.
	// Before the source has synced they are some of all that exist; if Synced was true before the call, all objects that
	// existed at the start have been returned after it.
	Drain() []object.Ref
	// Changes is Drain, and reports which deletions were seen.
	Changes() []Change
	// DirtySince returns when the oldest reference that Drain has not returned yet became dirty; zero if there is none.
	DirtySince() time.Time
	// Get returns the current state of an object, false if there is none. The object is shared and must not be changed.
	Get(ref object.Ref) (runtime.Object, bool)
	// Problems lists the present faults, sorted.
	Problems() []object.Problem
	// Unavailable lists the kinds that could never be read, because the permission is missing or the API does not have
	// them, sorted. Synced does not wait for them: their absence does not mean that there are no objects. Only kinds
	// without which nothing opens and nothing is deleted can be unavailable.
	Unavailable() []string
}

// Change is a reference that a source marked dirty.
type Change struct {
	Ref  object.Ref
	Gone Departure // how an object disappeared; it has no meaning for one that exists
}

// Departure is how an object went.
type Departure uint8

// The departures.
const (
	// Missing is an object that is missing from the last list, or from what was read last.
	Missing Departure = iota
	// Deleted is one whose deletion was seen: a DELETE event of the API, or the deletion of what it was derived from.
	Deleted
	// Lost is one that was not deleted: the API server went back to a state in which it did not exist yet, or the volume that it
	// was read from is no longer mounted, or the definition of its kind is removed.
	Lost
	// Implied is a namespace that nothing declared: it exists because objects in it do, and disappears with the last of them.
	Implied
)
