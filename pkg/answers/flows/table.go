package flows

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	maxRows  = 4096 // flows that a table distinguishes
	maxShare = 256  // of those, the ones of one pod, and those between addresses that no pod has
	slots    = 12   // a window is counted in that many parts, which expire one by one
	// kept is how many parts are kept, as long as there is room: those before the window are history.
	kept = 6 * slots
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
	tidied int64 // the slot in which rows of no window were last dropped to make room
}

// row counts a flow by slots of time.
type row struct {
	counts      [kept]uint32 // by slot modulo kept; that of last is the newest
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
			t.expire(kept)
		}
	}
	if slot <= t.slot-kept {
		return false
	}
	r, isNew := t.row(k)
	again := slot > t.slot-slots && r.slot <= t.slot-slots // after it was not seen within the window
	r.add(slot, at)
	return isNew || again && t.rows[k] == r
}

// row returns the row of a flow, or the one of all others with its verdict.
func (t *Table) row(k Key) (r *row, isNew bool) {
	if r = t.rows[k]; r != nil {
		return r, false
	}
	if !t.hasRoom(k) && t.tidied != t.slot { // history makes room, looked for once in each slot
		t.tidied = t.slot
		t.expire(slots)
	}
	if t.hasRoom(k) {
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

// hasRoom reports whether there may be a row more for a flow.
func (t *Table) hasRoom(k Key) bool { return len(t.rows) < maxRows && t.shares[k.owner] < maxShare }

// expire drops the rows that were not seen within the last slots.
func (t *Table) expire(last int64) {
	for k, r := range t.rows {
		if r.slot > t.slot-last {
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
		for s := max(r.slot+1, slot-kept+1); s <= slot; s++ {
			r.counts[s%kept] = 0
		}
		r.slot = slot
	}
	if slot > r.slot-kept && r.counts[slot%kept] < math.MaxUint32 {
		r.counts[slot%kept]++
	}
}

// count is how often the flow was seen in the window up to now.
func (r *row) count(now int64) uint64 {
	var n uint64
	for s := now - slots + 1; s <= now; s++ {
		n += uint64(r.at(s))
	}
	return n
}

// at is how often the flow was seen in a slot; 0 for one that is not kept.
func (r *row) at(slot int64) uint32 {
	if slot > r.slot || slot <= r.slot-kept {
		return 0
	}
	return r.counts[slot%kept]
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
