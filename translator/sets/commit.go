package sets

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/dirty"
)

// Commit commits the label cache. It marks policies dirty whose named ports now resolve differently, and those that may
// be newly shown or no longer.
func (t *Table) Commit() []labelcache.Change {
	view, changes := t.cache.Commit()
	t.view = view
	for i := range changes {
		c := &changes[i]
		if opensOrCloses(view, c) {
			for ref := range t.gated[intent.SetID(c.ID)] {
				t.dirty.Add(dirty.Settlement, ref)
				t.dirty.Add(dirty.Parts, ref)
			}
		}
		if !c.Numbers && (!c.Created || len(view.Numbers(c.ID)) == 0) {
			continue
		}
		for ref := range t.resolving[intent.SetID(c.ID)] {
			t.dirty.Add(dirty.Policies, ref)
		}
	}
	return changes
}

// opensOrCloses reports whether a gate may have got its first member or lost its last one.
func opensOrCloses(view labelcache.View, c *labelcache.Change) bool {
	m, _ := view.Set(c.ID)
	return c.Created || m.Len() == 0 || m.Len() == len(c.Joined)
}

// Apply brings the sets of the next snapshot in sync with the label cache. Was is the snapshot before, and changes are those
// of all commits since.
func (t *Table) Apply(next *intent.Builder, was *intent.Snapshot, changes []labelcache.Change) {
	for _, d := range intent.Directions() {
		t.touch(intent.IsolatedSet(d))
		t.touch(intent.StagedSet(d))
	}
	whole := map[intent.SetID]bool{} // created, or dropped
	for _, ref := range t.dirty.Take(dirty.Sets, object.Ref.Compare) {
		id := intent.SetID(ref.Name)
		old, now := was.Set(id), t.current(id)
		switch {
		case old == nil && now != nil:
			next.CreateSet(now)
			whole[id] = true
		case old != nil && now == nil:
			next.DropSet(id)
			whole[id] = true
		case now != nil && !slices.Equal(old.UnionOf, now.UnionOf):
			next.CreateSet(now)
			whole[id] = true
		case now != nil:
			next.UpdatePrefixes(id, now.Prefixes)
		}
	}
	for i := range changes {
		c := &changes[i]
		id := intent.SetID(c.ID)
		old := was.Set(id)
		if old == nil || whole[id] || len(c.Joined)+len(c.Left) == 0 {
			continue
		}
		m, _ := t.view.Set(c.ID)
		if s := t.retained[id]; s != nil && s.spec.Contested {
			next.UpdateMembers(contested{members{m}}, contestedDelta(old, m, c))
			continue
		}
		next.UpdateMembers(members{m}, intent.SetDelta{
			ID:           id,
			Joined:       endpointsOf(c.Joined),
			Left:         endpointsOf(c.Left),
			AddrsAdded:   counted(old, c.AddrsAdded),
			AddrsRemoved: counted(old, c.AddrsRemoved),
		})
	}
}

// current returns a set as it is now, nil if no object that is shown retains it.
func (t *Table) current(id intent.SetID) *intent.Set {
	m, ok := t.view.Set(labelcache.SetID(id))
	if title := gatheredTitle(id); title != "" {
		if !ok || t.node != "" && m.Len() == 0 {
			return nil
		}
		if t.node != "" {
			title += ", " + onThisNode
		}
		return &intent.Set{ID: id, Members: members{m}, Title: title}
	}
	s := t.retained[id]
	if s == nil || s.numbers || s.shown == 0 {
		return nil
	}
	set := &intent.Set{ID: id, Prefixes: t.prefixes(&s.spec), Hosts: s.spec.Hosts, Within: s.spec.Within, Title: s.spec.Title()}
	switch set.UnionOf = s.unionOf(); {
	case set.UnionOf != nil: // they have the members
	case ok && s.spec.Contested:
		set.Members = contested{members{m}}
	case ok:
		set.Members = members{m}
	}
	return set
}

// prefixes lists the prefixes of a spec, with the addresses that DNS answers for its names.
func (t *Table) prefixes(s *Spec) []netip.Prefix {
	if len(s.Hosts) == 0 {
		return s.Prefixes
	}
	out := slices.Clone(s.Prefixes)
	for _, name := range s.Hosts {
		addrs, _ := t.hosts.Addrs(name)
		for _, a := range addrs {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return intent.MergePrefixes(out)
}

// gatheredTitle is the title of a set that has the subjects of all policies, enforced or staged, of a direction; "" for other sets.
func gatheredTitle(id intent.SetID) string {
	for _, d := range intent.Directions() {
		if id == intent.IsolatedSet(d) {
			return fmt.Sprintf("every pod with a policy for %s", d)
		}
		if id == intent.StagedSet(d) {
			return fmt.Sprintf("every pod with a staged policy for %s", d)
		}
	}
	return ""
}

func counted(set *intent.Set, addrs []netip.Addr) []netip.Addr {
	if len(set.Within) == 0 {
		return addrs
	}
	return slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool { return !set.Counts(a) })
}
