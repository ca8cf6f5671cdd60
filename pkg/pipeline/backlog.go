package pipeline

import (
	"time"

	"github.com/netloom/netloom/pkg/intent"
)

// mostWaiting is how many snapshots are tracked separately while a target is behind.
const mostWaiting = 4096

// waiting is a revision, and the time of the oldest change in it.
type waiting struct {
	revision intent.Revision
	since    time.Time
}

// backlog tracks when changes arrived that some target may not have yet. Its user locks it.
type backlog struct {
	taken   time.Time // when the oldest change came that is in no snapshot; zero means none
	queued  time.Time // when the oldest change arrived that waits for a later snapshot; zero means none
	waiting []waiting // by revision, and so by age
}

// take records that a change that arrived at that time was taken from the source.
func (b *backlog) take(since time.Time) {
	if b.taken.IsZero() || since.Before(b.taken) {
		b.taken = since
	}
}

// publish records that a snapshot has everything taken so far. It has no effect if the snapshot is the last one again.
func (b *backlog) publish(revision, last intent.Revision) {
	if !b.taken.IsZero() && revision != last {
		b.waiting = append(b.waiting, waiting{revision, b.taken})
	}
	b.taken = time.Time{}
	if len(b.waiting) > mostWaiting {
		b.halve()
	}
}

// halve merges each pair of revisions: reached with the later one, as old as the earlier one.
func (b *backlog) halve() {
	half := b.waiting[:0]
	for i := 0; i+1 < len(b.waiting); i += 2 {
		half = append(half, waiting{b.waiting[i+1].revision, b.waiting[i].since})
	}
	if n := len(b.waiting); n%2 == 1 {
		half = append(half, b.waiting[n-1])
	}
	b.waiting = half
}

// oldest drops the changes that all targets have, which are those up to reached, and returns when the oldest other change arrived; zero
// means none.
func (b *backlog) oldest(reached intent.Revision) time.Time {
	for len(b.waiting) > 0 && b.waiting[0].revision <= reached {
		b.waiting = b.waiting[1:]
	}
	oldest := b.taken
	if len(b.waiting) > 0 {
		oldest = b.waiting[0].since
	}
	if oldest.IsZero() || !b.queued.IsZero() && b.queued.Before(oldest) {
		oldest = b.queued
	}
	return oldest
}

// Oldest returns when the oldest change arrived that is not in a revision up to reached; zero means none.
func (p *Pipeline) Oldest(reached intent.Revision) time.Time {
	p.mu.Lock()
	first := p.backlog.oldest(reached)
	p.mu.Unlock()
	if first.IsZero() {
		first = p.source.DirtySince()
	}
	return first
}
