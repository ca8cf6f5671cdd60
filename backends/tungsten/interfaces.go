package tungsten

import (
	"sync"

	"github.com/netloom/netloom/pkg/tungsten"
)

// interfaces notes which interfaces may have changed since they were last read. Observe may be called by any goroutine.
type interfaces struct {
	state *interfaceState
	wake  chan struct{}
}

// events are the last events of interfaces, by UUID; nil for one of which no more is known than that it changed.
type events map[string]*tungsten.Object

type interfaceState struct {
	mu    sync.Mutex
	dirty events
	all   bool // any of them
}

// maxDirty is how many interfaces are noted one by one.
const maxDirty = 100_000

func newInterfaces() interfaces {
	return interfaces{state: &interfaceState{dirty: events{}}, wake: make(chan struct{}, 1)}
}

func (s *interfaceState) note(e tungsten.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range e.Objects {
		if s.dirty[o.UUID] = o; e.Type == tungsten.EventDelete {
			s.dirty[o.UUID] = nil
		}
	}
	s.all = s.all || e.Type == tungsten.EventInit || len(s.dirty) > maxDirty
}

// begin forgets what was noted: everything is about to be read.
func (i *interfaces) begin() { i.take() }

// take returns what was noted, and forgets it.
func (i *interfaces) take() (dirty events, all bool) {
	i.state.mu.Lock()
	defer i.state.mu.Unlock()
	dirty, all = i.state.dirty, i.state.all
	i.state.dirty, i.state.all = events{}, false
	return dirty, all
}

// restore notes again what take returned.
func (i *interfaces) restore(dirty events, all bool) {
	i.state.mu.Lock()
	defer i.state.mu.Unlock()
	for id := range dirty {
		i.state.dirty[id] = nil
	}
	i.state.all = i.state.all || all
}
