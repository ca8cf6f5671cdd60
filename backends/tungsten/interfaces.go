package tungsten

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

var errNoStream = errors.New("the change stream ended")

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

// Watched is what Observe needs the events of.
func Watched() []tungsten.Watched {
	out := []tungsten.Watched{
		{Kind: tungsten.KindInterface, Fields: portFields()},
		{Kind: tungsten.KindInstanceIP, Fields: addressFields()},
	}
	for _, kind := range watchedKinds() {
		out = append(out, tungsten.Watched{Kind: kind, Fields: fieldsOf(kind)})
	}
	return out
}

// Wake implements backends.Waker: interfaces of pods, addresses or objects of the owner appeared, disappeared or changed, or the change
// stream ended.
func (b *Backend) Wake() <-chan struct{} { return b.interfaces.wake }

// Observe takes an event of the change stream of Watched. After a list, as at each connection, every interface is read again. After
// the end of a stream, the next plan finds out whether the controller answers.
func (b *Backend) Observe(e tungsten.Event) {
	if e.Type != tungsten.EventLost {
		b.lost.Store(nil)
	}
	switch {
	case e.Type == tungsten.EventLost:
		if was := b.lost.Swap(&e.Err); b.deaf.Swap(true) && was != nil {
			return
		}
	case e.Kind == tungsten.KindInterface:
		b.interfaces.state.note(e)
		b.noteOwn(e)
	case e.Kind == tungsten.KindInstanceIP && b.network != nil:
		b.addresses.state.note(e)
		b.noteOwn(e)
	case !b.noteOwn(e):
		return
	}
	b.wakeUp()
}

// noteOwn notes an event of objects of the owner, and reports whether it is one.
func (b *Backend) noteOwn(e tungsten.Event) bool {
	if b.network == nil && slices.Contains(balancerKinds(), e.Kind) || !slices.Contains(append(kinds(), balancerKinds()...), e.Kind) {
		return false
	}
	return b.own.note(b.names, e)
}

// wakeUp asks for a plan.
func (b *Backend) wakeUp() {
	select {
	case b.interfaces.wake <- struct{}{}:
	default:
	}
}

// Blind implements backends.Viewer.
func (b *Backend) Blind() error {
	if why := b.lost.Load(); why != nil {
		return cmp.Or(*why, errNoStream)
	}
	return nil
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

// unknown lists the interfaces whose last event shows something else than a model has. Own writes cause events, too.
func (b *Backend) unknown(dirty events, m *model) []string {
	var out []string
	for id, o := range dirty {
		old := m.ports.byUUID[id]
		if o != nil {
			switch p := portOf(b.names, b.clusters, o); {
			case p == nil && old == nil, p != nil && old != nil && p.key == old.key && maps.Equal(p.tags, old.tags):
				continue
			}
		}
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// reread brings a model's interfaces up to date, and returns the endpoints of those that differ.
func (b *Backend) reread(ctx context.Context, m *model) ([]object.Key, error) {
	events, all := b.interfaces.take()
	dirty := b.unknown(events, m)
	if len(dirty) == 0 && !all {
		return nil, nil
	}
	q := tungsten.Query{Fields: portFields(), UUIDs: dirty}
	if all {
		q.UUIDs = nil
	}
	list, err := b.api.List(ctx, tungsten.KindInterface, q)
	if err != nil {
		b.interfaces.restore(events, all)
		return nil, unreachable(err)
	}
	if all {
		dirty = slices.Sorted(maps.Keys(m.ports.byUUID))
	}
	touched := map[object.Key]bool{}
	seen := map[string]bool{}
	for _, o := range list {
		p, old := portOf(b.names, b.clusters, o), m.ports.byUUID[o.UUID]
		if p == nil {
			continue
		}
		seen[o.UUID] = true
		if old != nil && old.key == p.key && maps.Equal(old.tags, p.tags) {
			continue
		}
		if old != nil {
			touched[old.key] = true
			if old.key == p.key {
				b.retagged[p.uuid] = p.name
			}
		}
		touched[p.key] = true
		m.ports.put(p)
	}
	for _, id := range dirty {
		if !seen[id] {
			if old := m.ports.remove(id); old != nil {
				touched[old.key] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(touched), object.Key.Compare), nil
}
