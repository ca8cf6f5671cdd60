package labelcache

import (
	"net/netip"
	"slices"
	"strings"
)

// Change is the net difference of a set between two commits.
type Change struct {
	ID SetID
	// Created and Dropped sets carry no difference: the views before and after show the whole set. A set that was dropped
	// and created again is neither.
	Created, Dropped bool
	// Joined and Left are in no order. A member that stays but whose addresses or node changed is in both: in Left as
	// it was, in Joined as it is.
	Joined, Left []*Endpoint
	// AddrsAdded and AddrsRemoved are the effect on the addresses of the set: an address that another member still has
	// is not removed, one that a member already had is not added. They are sorted.
	AddrsAdded, AddrsRemoved []netip.Addr
	// Numbers reports whether View.Numbers differs.
	Numbers bool
}

// Commit publishes the changes since the last commit and returns the sets that changed, ordered by ID. If there were no
// changes, it returns the current view.
func (c *Cache) Commit() (View, []Change) {
	c.mu.Lock()
	v, changes := c.commit()
	c.mu.Unlock()
	c.deliver()
	return v, changes
}

func (c *Cache) commit() (View, []Change) {
	old := c.view.Load()
	if !c.changed {
		return View{old}, nil
	}
	next := &state{
		revision: old.revision + 1, seed: c.seed, endpoints: c.endpoints, addrs: c.addrs,
		v4: c.v4 > 0, v6: c.v6 > 0, spaces: c.spaceTable,
	}
	movers := c.settlePods(old)
	next.keys = c.keys
	next.live = c.podSlots.taken()
	changes := c.settleSets(old, next, movers)
	next.sets, next.setIndex = c.setTable, c.setIndex
	c.settleTags()
	next.tags, next.tagIndex = c.tags, c.tagIndex
	c.epoch++
	c.changed = false
	c.view.Store(next)
	return View{next}, changes
}

// settlePods frees the slots of deleted endpoints and finds, by set, those that stay but moved.
func (c *Cache) settlePods(old *state) map[*set][]uint32 {
	var movers map[*set][]uint32
	for _, id := range c.dirtyPods {
		p := &c.pods[id]
		p.dirty = false
		if p.gone {
			c.keys.remove(hashOf(c.seed, p.ep.Key), id, c.epoch)
			c.podSlots.give(id)
			*p = pod{}
			continue
		}
		was := old.endpoints.get(id)
		if was == nil || !moved(was, p.ep) {
			continue
		}
		if movers == nil {
			movers = map[*set][]uint32{}
		}
		for _, slot := range p.terms {
			for _, s := range c.terms[slot].sets {
				if ids := movers[s]; len(ids) == 0 || ids[len(ids)-1] != id {
					movers[s] = append(ids, id)
					c.touch(s)
				}
			}
		}
	}
	c.dirtyPods = c.dirtyPods[:0]
	return movers
}

// settleSets publishes the sets that changed.
func (c *Cache) settleSets(old, next *state, movers map[*set][]uint32) []Change {
	var changes []Change
	for _, s := range c.dirtySets {
		if ch, ok := c.settleSet(s, old, next, movers[s]); ok {
			changes = append(changes, ch)
		}
		s.dirty, s.dirtyNumbers = false, false
	}
	clear(c.dirtySets)
	c.dirtySets = c.dirtySets[:0]
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return changes
}

// settleSet publishes s and reports whether that changes anything.
func (c *Cache) settleSet(s *set, old, next *state, movers []uint32) (Change, bool) {
	ch := Change{ID: s.id}
	switch {
	case len(s.terms) == 0:
		delete(c.sets, s.id)
		if s.slot == 0 {
			return ch, false
		}
		c.setTable.set(s.slot-1, nil, c.epoch)
		c.setIndex.remove(hashOf(c.seed, s.id), s.slot-1, c.epoch)
		c.setSlots.give(s.slot - 1)
		ch.Dropped = true
		return ch, true
	case s.slot == 0:
		slot := c.setSlots.take()
		s.slot = slot + 1
		c.setIndex.add(hashOf(c.seed, s.id), slot, c.epoch)
		c.setTable.set(slot, &setState{s.id, s.members, c.numbersOf(s)}, c.epoch)
		ch.Created = true
		return ch, true
	}
	was := c.setTable.get(s.slot - 1)
	is := &setState{s.id, s.members, was.numbers}
	if s.dirtyNumbers {
		is.numbers = c.numbersOf(s)
		ch.Numbers = !slices.Equal(was.numbers, is.numbers)
	}
	ch.compare(was.members, is.members, old, next, movers)
	if len(ch.Joined) == 0 && len(ch.Left) == 0 && !ch.Numbers {
		s.members = was.members // share all of it again
		return ch, false
	}
	c.setTable.set(s.slot-1, is, c.epoch)
	return ch, true
}

// numbersOf returns the distinct numbers of the terms of s that leave the port open.
func (c *Cache) numbersOf(s *set) []uint16 {
	var counts []numbers
	for slot := range s.terms {
		if n := c.terms[slot].numbers; n != nil {
			counts = append(counts, n)
		}
	}
	return distinct(counts)
}

// compare fills in which endpoints joined and left, and which addresses were added and removed.
func (ch *Change) compare(was, is idset, old, next *state, movers []uint32) {
	diff(was, is, func(id uint32, added bool) {
		if added {
			ch.Joined = append(ch.Joined, next.endpoints.get(id))
		} else {
			ch.Left = append(ch.Left, old.endpoints.get(id))
		}
	})
	for _, id := range movers {
		if was.has(id) && is.has(id) {
			ch.Left = append(ch.Left, old.endpoints.get(id))
			ch.Joined = append(ch.Joined, next.endpoints.get(id))
		}
	}
	ch.AddrsAdded = addrsOf(ch.Joined, func(a netip.Addr) bool { return !old.hasAddr(was, a) })
	ch.AddrsRemoved = addrsOf(ch.Left, func(a netip.Addr) bool { return !next.hasAddr(is, a) })
}

// addrsOf lists the addresses of endpoints that are wanted, sorted.
func addrsOf(es []*Endpoint, want func(netip.Addr) bool) []netip.Addr {
	var out []netip.Addr
	for _, e := range es {
		for _, a := range e.Addrs {
			if want(a) {
				out = append(out, a)
			}
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}
