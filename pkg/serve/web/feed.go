package web

import (
	"strconv"
	"sync"
	"time"

	"github.com/netloom/netloom/pkg/intent"
)

// Event is something that happened, as shown to people.
type Event struct {
	ID       uint64          `json:"id"` // counted from 1
	At       time.Time       `json:"at"`
	Kind     EventKind       `json:"kind"`
	Target   string          `json:"target,omitempty"`
	Revision intent.Revision `json:"revision,omitempty"`
	Text     string          `json:"text"` // what happened, in words
}

// EventKind is what an Event is about.
type EventKind string

// The kinds of events.
const (
	SnapshotPublished EventKind = "snapshot"        // a new state
	PlanApplied       EventKind = "plan"            // a target was written to
	TargetChanged     EventKind = "target"          // a target came in sync, fell out of sync, or was changed by someone else
	ProblemAppeared   EventKind = "problem"         // something could not be understood
	ProblemCleared    EventKind = "problem-cleared" // it is gone, or can be understood now
)

// keptEvents is how many events a Feed keeps.
const keptEvents = 256

// Feed keeps the last events and wakes those that wait for the next. It is safe for concurrent use. Make it with NewFeed.
type Feed struct {
	epoch string

	mu   sync.Mutex
	kept []Event // the newest last
	last uint64
	next chan struct{} // closed by the next event
}

// NewFeed makes an empty feed. The time distinguishes its events from those of an earlier process.
func NewFeed(now time.Time) *Feed {
	return &Feed{epoch: strconv.FormatInt(now.UnixNano(), 36), next: make(chan struct{})}
}

// Epoch identifies the process that numbers the events and the states.
func (f *Feed) Epoch() string { return f.epoch }

// Add publishes an event. It assigns the ID and does not wait for readers.
func (f *Feed) Add(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	e.ID = f.last
	if len(f.kept) == keptEvents {
		f.kept = append(f.kept[:0:0], f.kept[keptEvents/4:]...)
	}
	f.kept = append(f.kept, e)
	close(f.next)
	f.next = make(chan struct{})
}

// After lists the kept events after an ID, and returns a channel that is closed when there is another one.
func (f *Feed) After(id uint64) ([]Event, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := len(f.kept)
	for first > 0 && f.kept[first-1].ID > id {
		first--
	}
	return append([]Event(nil), f.kept[first:]...), f.next
}
