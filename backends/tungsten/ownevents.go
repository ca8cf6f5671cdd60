package tungsten

import (
	"maps"
	"slices"
	"sync"

	"github.com/netloom/netloom/pkg/tungsten"
)

// ownEvents are the last events of objects with the owner's names. Any goroutine may note one.
type ownEvents struct {
	mu    sync.Mutex
	dirty map[string]noted                  // by UUID
	lists map[tungsten.Kind]map[string]bool // UUIDs of all objects of a kind, as of the last connection
	over  bool                              // more was noted than maxDirty
}

// noted is the last event of an object.
type noted struct {
	kind   tungsten.Kind
	object *tungsten.Object // nil if it is deleted, or if no more is known than that it changed
}

func newOwnEvents() *ownEvents {
	return &ownEvents{dirty: map[string]noted{}, lists: map[tungsten.Kind]map[string]bool{}}
}

// note takes an event, and reports whether it concerns the owner.
func (o *ownEvents) note(names namer, e tungsten.Event) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	some := false
	if len(o.dirty)+len(e.Objects) > maxDirty {
		o.over = true
		clear(o.dirty)
		return true
	}
	if e.Type == tungsten.EventInit {
		some, o.lists[e.Kind] = true, map[string]bool{}
	}
	for _, one := range e.Objects {
		n := noted{kind: e.Kind, object: one}
		switch {
		case e.Type == tungsten.EventDelete && names.ownsUUID(one.UUID):
			n.object = nil
		case e.Type == tungsten.EventDelete || !names.owns(one):
			continue
		case fieldsOf(e.Kind) != nil || e.Kind == tungsten.KindInterface || e.Kind == tungsten.KindInstanceIP:
			n.object = nil
		}
		some = true
		o.dirty[one.UUID] = n
		if e.Type == tungsten.EventInit {
			o.lists[e.Kind][one.UUID] = true
		}
	}
	return some
}

// suspects returns what events show otherwise than a model has it, by kind.
func (o *ownEvents) suspects(m *model) (map[tungsten.Kind][]string, error) {
	dirty, lists := o.take()
	for _, in := range []map[string]*tungsten.Object{m.objects, m.balancers} {
		for id, have := range in {
			if list := lists[have.Kind]; list != nil && !list[id] {
				dirty[id] = noted{kind: have.Kind}
			}
		}
	}
	out := map[tungsten.Kind][]string{}
	for _, id := range slices.Sorted(maps.Keys(dirty)) {
		n := dirty[id]
		if n.object != nil {
			differs, err := differ(n.object, m.of(id))
			if err != nil {
				return nil, err
			}
			if !differs {
				continue
			}
		}
		out[n.kind] = append(out[n.kind], id)
	}
	return out, nil
}

// take returns what was noted, and forgets it.
func (o *ownEvents) take() (map[string]noted, map[tungsten.Kind]map[string]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	dirty, lists := o.dirty, o.lists
	o.dirty, o.lists, o.over = map[string]noted{}, map[tungsten.Kind]map[string]bool{}, false
	return dirty, lists
}

// tooMany reports whether more changed than is noted one by one.
func (o *ownEvents) tooMany() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.over
}

// altered is an object that others changed.
type altered struct {
	kind   tungsten.Kind
	now    *tungsten.Object // nil if it is gone
	fields []string
}

// differ reports whether an object is not as a model has it; either may be nil.
func differ(is, want *tungsten.Object) (bool, error) {
	if is == nil || want == nil {
		return is != want, nil
	}
	fields, err := tungsten.Diff(is, want)
	return len(fields) > 0, err
}
