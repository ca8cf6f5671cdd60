package flows

import (
	"slices"
	"time"
)

// History is how often flows were seen in the parts of some time.
type History struct {
	Step  time.Duration // the length of a part
	Until time.Time     // when the last part ends
	Parts int
	Flows []Past // in the order of their keys
}

// Past is a flow with how often it was seen in each part of a History.
type Past struct {
	Key

	Counts []uint32 // the oldest first
	Last   time.Time
}

// Begin is when a part begins.
func (h *History) Begin(part int) time.Time {
	return h.Until.Add(-time.Duration(h.Parts-part) * h.Step)
}

// History lists the flows of the time up to now, or to the newest entry if that is later: six windows, with fewer flows before the last
// of them if there was no room for all.
func (t *Table) History(now time.Time) History {
	t.mu.Lock()
	defer t.mu.Unlock()
	step := t.window / slots
	slot := max(t.slot, now.UnixNano()/int64(step))
	out := History{Step: step, Until: time.Unix(0, (slot+1)*int64(step)).UTC(), Parts: kept}
	for k, r := range t.rows {
		past := Past{Key: k, Last: r.last}
		seen := false
		for s := slot - kept + 1; s <= slot; s++ {
			n := r.at(s)
			past.Counts, seen = append(past.Counts, n), seen || n > 0
		}
		if seen {
			out.Flows = append(out.Flows, past)
		}
	}
	slices.SortFunc(out.Flows, func(a, b Past) int { return a.compare(b.Key) })
	return out
}

// History lists the flows of the last hours: see Table.History.
func (r *Recorder) History(now time.Time) History { return r.table.History(now) }
