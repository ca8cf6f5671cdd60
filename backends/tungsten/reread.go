package tungsten

import (
	"context"
	"maps"
	"slices"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

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
		if old != nil && old.equal(p) {
			continue
		}
		if old != nil {
			touched[old.key] = true
			if old.key == p.key && !maps.Equal(old.tags, p.tags) {
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

// unknown lists the interfaces whose last event shows something else than a model has. Own writes cause events, too.
func (b *Backend) unknown(dirty events, m *model) []string {
	var out []string
	for id, o := range dirty {
		old := m.ports.byUUID[id]
		if o != nil {
			switch p := portOf(b.names, b.clusters, o); {
			case p == nil && old == nil, p != nil && old != nil && p.equal(old):
				continue
			}
		}
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// readdress brings a model's instance IPs up to date, and reports whether any differs.
func (b *Backend) readdress(ctx context.Context, m *model) (bool, error) {
	if b.network == nil {
		return false, nil
	}
	events, all := b.addresses.take()
	dirty := slices.Sorted(maps.Keys(events))
	dirty = slices.DeleteFunc(dirty, func(id string) bool {
		o, old := events[id], m.addresses.byUUID[id]
		if o == nil {
			return false
		}
		a := addressOf(o)
		return a == nil && old == nil || a != nil && old != nil && a.equal(old)
	})
	if len(dirty) == 0 && !all {
		return false, nil
	}
	q := tungsten.Query{Fields: addressFields(), UUIDs: dirty}
	if all {
		q.UUIDs, dirty = nil, slices.Sorted(maps.Keys(m.addresses.byUUID))
	}
	list, err := b.api.List(ctx, tungsten.KindInstanceIP, q)
	if err != nil {
		b.addresses.restore(events, all)
		return false, unreachable(err)
	}
	differs, seen := false, map[string]bool{}
	for _, o := range list {
		a, old := addressOf(o), m.addresses.byUUID[o.UUID]
		if a == nil {
			continue
		}
		if seen[o.UUID] = true; old == nil || !a.equal(old) {
			m.addresses.put(a)
			differs = true
		}
	}
	for _, id := range dirty {
		if !seen[id] {
			differs = m.addresses.remove(id) || differs
		}
	}
	return differs, nil
}
