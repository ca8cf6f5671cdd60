package tungsten

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// The change stream shows every change of the owner's objects, its own as well, and some of those late. What differs from the model is
// read before it counts as a change by others.

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

// watchedKinds lists the kinds of objects of the owner that are watched, besides interfaces and instance IPs.
func watchedKinds() []tungsten.Kind {
	return append(kinds(), tungsten.KindLoadBalancer, tungsten.KindListener, tungsten.KindPool, tungsten.KindMember)
}

// fieldsOf selects what events show of a kind; nil is everything. A policy announces itself with all of its rules whenever it gains one,
// which would cost the square of their number.
func fieldsOf(kind tungsten.Kind) []string {
	if kind == tungsten.KindFirewallPolicy {
		return []string{"annotations"}
	}
	return nil
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

func newOwnEvents() *ownEvents {
	return &ownEvents{dirty: map[string]noted{}, lists: map[tungsten.Kind]map[string]bool{}}
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

// of returns an object of the owner that a model has; nil if it has none with this UUID.
func (m *model) of(id string) *tungsten.Object {
	if o := m.objects[id]; o != nil {
		return o
	}
	return m.balancers[id]
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

// differ reports whether an object is not as a model has it; either may be nil.
func differ(is, want *tungsten.Object) (bool, error) {
	if is == nil || want == nil {
		return is != want, nil
	}
	fields, err := tungsten.Diff(is, want)
	return len(fields) > 0, err
}

// altered is an object that others changed.
type altered struct {
	kind   tungsten.Kind
	now    *tungsten.Object // nil if it is gone
	fields []string
}

// Confirm implements backends.Confirmer: it reads what events show otherwise than netloom left it.
func (b *Backend) Confirm(ctx context.Context) error {
	m := b.model
	if m == nil {
		return nil // everything is read with the next plan
	}
	moved, err := b.reread(ctx, m)
	if err != nil {
		return err
	}
	b.moved = append(b.moved, moved...)
	if b.own.tooMany() {
		b.model = nil
		return nil
	}
	suspects, err := b.own.suspects(m)
	if err != nil {
		return err
	}
	for kind, ids := range suspects {
		if err := b.confirm(ctx, m, kind, ids); err != nil {
			b.model = nil // what was noted is forgotten
			return err
		}
	}
	return nil
}

// confirm reads objects of a kind, and notes those that others changed.
func (b *Backend) confirm(ctx context.Context, m *model, kind tungsten.Kind, ids []string) error {
	q := b.queryOf(kind)
	q.UUIDs = ids
	list, err := b.api.List(ctx, kind, q)
	if err != nil {
		return unreachable(err)
	}
	found := map[string]*tungsten.Object{}
	for _, o := range list {
		if b.names.owns(o) {
			if _, balances := balancerName(o); balances {
				o.TagRefs = nil // of others
			}
			found[o.UUID] = o
		}
	}
	for _, id := range ids {
		is, want := found[id], m.of(id)
		differs, err := differ(is, want)
		if err != nil {
			return err
		}
		if delete(b.foreign, id); !differs {
			continue
		}
		a := altered{kind: kind, now: is}
		if is != nil && want != nil {
			fields, err := tungsten.Diff(is, want)
			if err != nil {
				return err
			}
			a.fields = fields.Names()
		}
		b.foreign[id] = a
	}
	return nil
}

// ChangedByOthers implements backends.Watcher, as of the last Confirm.
func (b *Backend) ChangedByOthers() bool { return len(b.foreign)+len(b.retagged) > 0 }

// Foreign implements backends.Watcher.
func (b *Backend) Foreign() *backends.Foreign {
	if !b.ChangedByOthers() {
		return nil
	}
	f := &backends.Foreign{Unknown: b.model == nil}
	for id, a := range b.foreign {
		one := backends.ForeignObject{Kind: string(a.kind), Name: id, Fields: a.fields}
		of := a.now
		if b.model != nil && b.model.of(id) != nil {
			of = b.model.of(id)
		}
		if of != nil {
			one.Name, one.For = of.Name(), of.Annotations.Get(annotationFor)
		}
		f.Objects = append(f.Objects, one)
	}
	for id, name := range b.retagged {
		one := backends.ForeignObject{Kind: string(tungsten.KindInterface), Name: name, Fields: []string{"tag_refs"}}
		if b.model != nil && b.model.ports.byUUID[id] != nil {
			one.For = b.model.ports.byUUID[id].key.String()
		}
		f.Objects = append(f.Objects, one)
	}
	f.All = len(f.Objects)
	f.Sort()
	return f
}

// Writers implements backends.Watcher: the controller does not tell who changes it.
func (b *Backend) Writers(context.Context) string { return "" }

// Repair implements backends.Watcher.
func (b *Backend) Repair(ctx context.Context) (*backends.Plan, error) {
	m := b.model
	if m == nil {
		return &backends.Plan{Resync: true}, ctx.Err()
	}
	b.pending = nil
	plan := &backends.Plan{Revision: m.snapshot.Revision(), Owned: len(m.objects) + len(m.balancers)}
	have, balancers := maps.Clone(m.objects), maps.Clone(m.balancers)
	if balancers == nil {
		balancers = map[string]*tungsten.Object{}
	}
	for id, a := range b.foreign {
		in := have
		if slices.Contains(balancerKinds(), a.kind) {
			in = balancers
		}
		if delete(in, id); a.now != nil {
			in[id] = a.now
		}
	}
	c := &comparison{names: b.names, have: have, want: m.objects, haveUsage: usageOf(b.names, have), wantUsage: m.rendering.usage}
	if err := c.balancers(balancers, m.balancers); err != nil {
		return nil, err
	}
	c.findBasic()
	c.isolatedTags(m.ports.sorted(), m.tags)
	if err := c.objects(); err != nil {
		return nil, err
	}
	tags := wanted{}
	for id := range b.retagged {
		if p := m.ports.byUUID[id]; p != nil {
			tags[p.key] = m.tags[p.key]
		}
	}
	c.interfaces(m.ports.of(tags), tags)
	next := *m
	if err := b.propose(plan, c, &next, tags, nil); err != nil {
		return nil, err
	}
	if b.pending == nil {
		b.forgetForeign()
		return plan, nil
	}
	commit := b.pending.commit
	b.pending.commit = func() {
		commit()
		b.forgetForeign()
	}
	return plan, nil
}

// forgetForeign records that nothing that others changed is left to repair.
func (b *Backend) forgetForeign() {
	b.foreign, b.retagged = map[string]altered{}, map[string]string{}
}

// keysOf returns keys once each, sorted.
func keysOf(keys []object.Key) []object.Key {
	slices.SortFunc(keys, object.Key.Compare)
	return slices.Compact(keys)
}
