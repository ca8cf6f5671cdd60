package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/netloom/netloom/pkg/intent"
)

// remembered is how many snapshots a target may lag behind before the oldest are no longer timed.
const remembered = 4096

// published is when the changes that led to a revision were read.
type published struct {
	revision intent.Revision
	since    time.Time
}

// remember records p so that it is timed when a target reaches it. A snapshot without a new revision is ignored.
func (m *Metrics) remember(p published) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.pending); n > 0 && m.pending[n-1].revision >= p.revision {
		return
	}
	if len(m.pending) >= 2*remembered {
		m.pending = slices.Clone(m.pending[len(m.pending)-remembered:])
	}
	m.pending = append(m.pending, p)
}

// reach returns the times of the changes that the target has just reached. Changes that it caught up with at startup are left
// out: they measure how long the process was down, not how fast it is.
func (m *Metrics) reach(target string, rev intent.Revision) []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known := m.reached[target]
	m.reached[target] = rev
	if !known {
		return nil
	}
	first, _ := slices.BinarySearchFunc(m.pending, before+1, func(p published, r intent.Revision) int {
		return cmp.Compare(p.revision, r)
	})
	var times []time.Time
	for _, p := range m.pending[first:] {
		if p.revision > rev {
			break
		}
		times = append(times, p.since)
	}
	return times
}
