package retention

import (
	"time"

	"github.com/netloom/netloom/pkg/object"
)

// tally counts the objects of one kind.
type tally struct {
	present int                      // in force, without kept ones
	missing int                      // of them, those that are missing and not judged yet
	kept    int                      // in force although they are missing
	deleted int                      // intentionally deleted, since the start
	lost    map[object.Ref]time.Time // those that were removed although they were missing
	marks   []mark                   // how many there were before losses, the highest first and the oldest first

	before      int       // how many were in force, with deleted, before the first missing one
	first, last time.Time // when the first and the last of the missing ones went
}

// mark is how many objects were in force at a time, plus those deleted until then: so it needs no change if more are
// deleted.
type mark struct {
	at    time.Time
	count int
}

// miss counts one more missing object.
func (t *tally) miss(now time.Time) {
	if t.missing == 0 {
		t.before, t.first = t.present+t.kept+t.deleted, now
	}
	t.missing++
	t.last = now
}

// due is when missing objects are to be judged; false if there are none.
func (t *tally) due() (time.Time, bool) {
	due, latest := t.last.Add(settleTime), t.first.Add(settleMax)
	if latest.Before(due) {
		due = latest
	}
	return due, t.missing > 0
}

// suspicious reports whether too many objects are missing to have been deleted. If others may replace those that go, it uses the
// decrease in number. Short-lived objects may add up to more than there ever were at once, so a share of 1 is not computed.
func (t *tally) suspicious(now time.Time, opts Options, kind string) bool {
	most := t.most(now, opts.Window) // also forgets what is too old
	if opts.Fraction >= 1 {
		return false
	}
	lost := t.missing + t.kept + len(t.lost)
	if comesAndGoes(kind) {
		lost = min(lost, most-t.present+t.missing)
	}
	if float64(lost) <= opts.Fraction*float64(most) {
		return false
	}
	return most >= opts.Least || object.IsPolicy(kind) && t.present == t.missing // the last ones
}

// settle counts the missing objects as kept, or as gone.
func (t *tally) settle(keep bool) {
	t.present -= t.missing
	if keep {
		t.kept += t.missing
	}
	t.missing = 0
}

// most is the largest number of objects in force within a window that ends now, before the missing ones went and without
// deleted ones. Older marks are dropped.
func (t *tally) most(now time.Time, window time.Duration) int {
	for len(t.marks) > 0 && now.Sub(t.marks[0].at) > window {
		t.marks = t.marks[1:]
	}
	for ref, at := range t.lost {
		if now.Sub(at) > window {
			delete(t.lost, ref)
		}
	}
	for len(t.marks) > 0 && t.marks[len(t.marks)-1].count <= t.before {
		t.marks = t.marks[:len(t.marks)-1]
	}
	t.marks = append(t.marks, mark{t.first, t.before})
	return t.marks[0].count - t.deleted
}
