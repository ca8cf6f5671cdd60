package flows

import (
	"sync"
	"time"

	"github.com/netloom/netloom/pkg/inputs/acllog"
)

// Recorder counts the lines of ACL logs in a Table, with a Guide that may be replaced in between: what was counted before keeps its
// names. It is safe for concurrent use. Make it with NewRecorder.
type Recorder struct {
	table *Table

	mu      sync.Mutex
	guide   *Guide
	entries int
}

// NewRecorder makes a recorder of the last window.
func NewRecorder(guide *Guide, window time.Duration) *Recorder {
	return &Recorder{table: NewTable(window), guide: guide}
}

// Use has later lines read with another guide.
func (r *Recorder) Use(guide *Guide) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guide = guide
}

// Line counts a line. It returns the flow and its time if the flow is new. Other lines than those of an ACL log are ignored.
func (r *Recorder) Line(line []byte, now time.Time) (k Key, at time.Time, isNew bool) {
	e, ok := acllog.Parse(string(line), now)
	if !ok {
		return Key{}, time.Time{}, false
	}
	r.mu.Lock()
	guide := r.guide
	r.entries++
	r.mu.Unlock()
	if k, ok = guide.Key(&e); !ok {
		return Key{}, time.Time{}, false
	}
	return k, e.At, r.table.Add(k, e.At, now)
}

// Entries counts the lines of an ACL log, whether they decide anything or not.
func (r *Recorder) Entries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries
}

// Report lists the flows: see Table.Report.
func (r *Recorder) Report(now time.Time) Report { return r.table.Report(now) }
