package flows

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	maxRows  = 4096 // flows that a table distinguishes
	maxShare = 256  // of those, the ones of one pod, and those between addresses that no pod has
	slots    = 12   // a window is counted in that many parts, which expire one by one
	// maxAhead is how far the clock of a node may be ahead; a later stamp counts as now.
	maxAhead = time.Minute
)

// Table counts flows within a window of time. Its size is bounded: flows for which it has no row are counted together. It is
// safe for concurrent use. Make it with NewTable.
type Table struct {
	window time.Duration

	mu     sync.Mutex
	rows   map[Key]*row
	shares map[string]int // rows by owner
	other  map[Verdict]*row
	newest time.Time
	slot   int64 // of newest
}

// row counts a flow by slots of time.
type row struct {
	counts      [slots]uint64 // by slot modulo slots; that of last is the newest
	slot        int64
	first, last time.Time
}

// NewTable makes a table that counts the entries of the last window.
func NewTable(window time.Duration) *Table {
	return &Table{
		window: max(window, slots*time.Second), rows: map[Key]*row{}, shares: map[string]int{}, other: map[Verdict]*row{},
	}
}

// Window is how far back the table counts.
func (t *Table) Window() time.Duration { return t.window }

// Add counts an entry of a flow. One without a stamp, or with a stamp in the future, counts as of now. It reports whether the
// flow is new in the table.
func (t *Table) Add(k Key, at, now time.Time) bool {
	if at.Unix() <= 0 || at.After(now.Add(maxAhead)) {
		at = now
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	slot := at.UnixNano() / int64(t.window/slots)
	if t.newest.IsZero() || at.After(t.newest) {
		t.newest = at
		if slot != t.slot {
			t.slot = slot
			t.expire()
		}
	}
	if slot <= t.slot-slots {
		return false
	}
	r, isNew := t.row(k)
	r.add(slot, at)
	return isNew
}

// row returns the row of a flow, or the one of all others with its verdict.
func (t *Table) row(k Key) (r *row, isNew bool) {
	if r = t.rows[k]; r != nil {
		return r, false
	}
	if len(t.rows) < maxRows && t.shares[k.owner] < maxShare {
		r = &row{}
		t.rows[k] = r
		t.shares[k.owner]++
		return r, true
	}
	if r = t.other[k.Verdict]; r == nil {
		r = &row{}
		t.other[k.Verdict] = r
	}
	return r, false
}

// expire drops the rows that were not seen within the window.
func (t *Table) expire() {
	for k, r := range t.rows {
		if r.slot > t.slot-slots {
			continue
		}
		delete(t.rows, k)
		if t.shares[k.owner]--; t.shares[k.owner] == 0 {
			delete(t.shares, k.owner)
		}
	}
}

func (r *row) add(slot int64, at time.Time) {
	if r.first.IsZero() || at.Before(r.first) {
		r.first = at
	}
	if at.After(r.last) {
		r.last = at
	}
	if slot > r.slot {
		for s := max(r.slot+1, slot-slots+1); s <= slot; s++ {
			r.counts[s%slots] = 0
		}
		r.slot = slot
	}
	if slot > r.slot-slots {
		r.counts[slot%slots]++
	}
}

// count is how often the flow was seen in the slots up to now.
func (r *row) count(now int64) uint64 {
	var n uint64
	for s := now - slots + 1; s <= r.slot; s++ {
		n += r.counts[s%slots]
	}
	return n
}

// Flow is a flow with how often it was seen within the window.
type Flow struct {
	Key

	Count       uint64
	First, Last time.Time // of all entries, also those before the window
}

// Report is the contents of a table.
type Report struct {
	Until time.Time // the newest entry; zero if there was none
	Flows []Flow    // the most frequent first
	// Other counts entries of flows for which there was no room, by verdict.
	Other map[Verdict]uint64
}

// Report lists the flows of the window that ends with the newest entry, or with now if that is later and not zero.
func (t *Table) Report(now time.Time) Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot := t.slot
	if !now.IsZero() {
		slot = max(slot, now.UnixNano()/int64(t.window/slots))
	}
	out := Report{Until: t.newest, Other: map[Verdict]uint64{}}
	for k, r := range t.rows {
		if n := r.count(slot); n > 0 {
			out.Flows = append(out.Flows, Flow{Key: k, Count: n, First: r.first, Last: r.last})
		}
	}
	for v, r := range t.other {
		if n := r.count(slot); n > 0 {
			out.Other[v] = n
		}
	}
	slices.SortFunc(out.Flows, func(a, b Flow) int { return cmp.Or(cmp.Compare(b.Count, a.Count), a.compare(b.Key)) })
	return out
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.From, o.From), cmp.Compare(k.To, o.To), cmp.Compare(k.Port, o.Port), cmp.Compare(k.Verdict, o.Verdict),
		cmp.Compare(k.ACL, o.ACL), cmp.Compare(k.Policy, o.Policy), cmp.Compare(k.Rule, o.Rule))
}
