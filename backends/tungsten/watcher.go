package tungsten

import (
	"context"
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/tungsten"
)

// The change stream shows every change of the owner's objects, its own as well, and some of those late. What differs from the model is
// read before it counts as a change by others.

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
	b.pending, b.asked = nil, false
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
	c.live.findBasic(c.names, c.have, c.want)
	c.live.findIsolated(c.names, m.ports.sorted(), m.tags)
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
