package registry

import (
	"slices"
	"sync"
	"time"

	"github.com/netloom/netloom/pkg/inputs/source"
)

// State is what is known about a source of UpstreamClusters.
type State struct {
	Synced bool      // the clusters that existed at the start are served; once true, it stays so
	Lost   time.Time // since when the source cannot be read; zero if it can
	Faults []string  // why, or which parts of it cannot be read: what they contained before is still served

	Proof source.Proof // how current what was read is known to be
}

// watched is a State that reports its changes. It is safe for concurrent use.
type watched struct {
	changed func() // called after each change; nil calls nothing

	mu    sync.Mutex
	state State
}

// get returns the state.
func (w *watched) get() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// synced records that all clusters are served that existed at the start.
func (w *watched) synced() {
	w.set(func(s *State) { s.Synced = true })
}

// readable records that the source can be read, but for parts with faults.
func (w *watched) readable(faults ...string) {
	w.set(func(s *State) { s.Lost, s.Faults, s.Proof.Confirmed = time.Time{}, faults, time.Now() })
}

// unreadable records why the source cannot be read.
func (w *watched) unreadable(why string) {
	w.set(func(s *State) {
		if s.Lost.IsZero() {
			s.Lost = time.Now()
		}
		s.Faults = []string{why}
	})
}

func (w *watched) set(change func(*State)) {
	w.mu.Lock()
	before := w.state
	change(&w.state)
	same := before.Synced == w.state.Synced && before.Lost.Equal(w.state.Lost) && slices.Equal(before.Faults, w.state.Faults)
	w.mu.Unlock()
	if !same && w.changed != nil {
		w.changed()
	}
}
