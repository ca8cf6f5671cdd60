package labelcache

import "slices"

// SetID names a set. The caller chooses it.
type SetID string

// term is a Term that at least one set consists of.
type term struct {
	spec    *spec // nil selects nothing
	id      string
	slot    uint32
	sets    []*set  // those that have it, in no order
	numbers numbers // if the port is open: what members resolve it to
	facets  []*facet
	scopes  []*facet
	watched []*facet
	stamp   uint64 // of the last relabelling that checked it

	matches  int  // how many endpoints match it
	reported int  // of those, as last reported by Matches
	resized  bool // it may have to be reported
}

// set is a union of terms. It exists until the commit after its last term was removed.
type set struct {
	id           SetID
	slot         uint32         // its slot in the published view, plus one
	terms        map[uint32]int // how often each term was added
	members      idset
	dirty        bool // something changed since the last commit
	dirtyNumbers bool
}

// touch makes the next commit process s.
func (c *Cache) touch(s *set) {
	c.changed = true
	if !s.dirty {
		s.dirty = true
		c.dirtySets = append(c.dirtySets, s)
	}
}

// AddTerm makes a term part of a set, which is created by its first term. A term that is added several times has to be
// removed the same number of times.
func (c *Cache) AddTerm(id SetID, t Term) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sets[id]
	if s == nil {
		s = &set{id: id, terms: map[uint32]int{}}
		c.sets[id] = s
		c.touch(s)
	}
	tm, isNew := c.term(t)
	s.terms[tm.slot]++
	if s.terms[tm.slot] > 1 {
		return
	}
	c.touch(s)
	tm.sets = append(tm.sets, s)
	s.dirtyNumbers = s.dirtyNumbers || tm.numbers != nil
	c.scan(tm, func(id uint32) {
		p := &c.pods[id]
		switch {
		case isNew:
			if tm.spec.matchesPlace(p.ep.Key.Cluster, p.ep.Key.Namespace, p.ns.known, p.ns.labels) && tm.spec.matchesPod(p.ep) {
				c.join(tm, id, p)
			}
		case p.has(tm.slot):
			s.members.add(id, c.epoch)
		}
	})
}

// RemoveTerm undoes one AddTerm. The set is dropped with its last term. Without such an AddTerm nothing happens.
func (c *Cache) RemoveTerm(id SetID, t Term) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, tm := c.sets[id], c.termByID[t.ID()]
	if s == nil || tm == nil || s.terms[tm.slot] == 0 {
		return
	}
	s.terms[tm.slot]--
	if s.terms[tm.slot] > 0 {
		return
	}
	c.touch(s)
	delete(s.terms, tm.slot)
	s.dirtyNumbers = s.dirtyNumbers || tm.numbers != nil
	tm.sets = slices.Delete(tm.sets, slices.Index(tm.sets, s), slices.Index(tm.sets, s)+1)
	last := len(tm.sets) == 0
	if len(s.terms) == 0 {
		s.members = idset{}
		if !last {
			return
		}
	}
	c.scan(tm, func(id uint32) {
		p := &c.pods[id]
		if !p.has(tm.slot) {
			return
		}
		if last {
			p.lose(tm.slot)
		}
		if !c.covered(s, p) {
			s.members.remove(id, c.epoch)
		}
	})
	if last {
		c.forget(tm)
	}
}

// term finds or creates the cache's entry for t.
func (c *Cache) term(t Term) (tm *term, isNew bool) {
	if tm := c.termByID[t.ID()]; tm != nil {
		return tm, false
	}
	tm = &term{spec: t.spec, id: t.ID(), slot: c.termSlots.take()}
	if t.spec != nil && t.spec.port.open() {
		tm.numbers = numbers{}
	}
	c.termByID[tm.id] = tm
	if int(tm.slot) == len(c.terms) {
		c.terms = append(c.terms, nil)
	}
	c.terms[tm.slot] = tm
	c.file(tm)
	return tm, true
}

// forget undoes term.
func (c *Cache) forget(t *term) {
	c.unfile(t)
	delete(c.termByID, t.id)
	c.terms[t.slot] = nil
	c.termSlots.give(t.slot)
}

// join makes an endpoint match t.
func (c *Cache) join(t *term, id uint32, p *pod) {
	i, ok := slices.BinarySearch(p.terms, t.slot)
	if ok {
		return
	}
	if len(p.terms) == cap(p.terms) { // grow by less than append does: there are many endpoints
		p.terms = append(make([]uint32, 0, len(p.terms)+len(p.terms)/4+2), p.terms...)
	}
	p.terms = slices.Insert(p.terms, i, t.slot)
	c.enter(t, id, p)
}

// enter puts an endpoint that matches t into the sets of t.
func (c *Cache) enter(t *term, id uint32, p *pod) {
	c.matched(t, 1)
	c.count(t, p.ep, 1)
	for _, s := range t.sets {
		if s.members.add(id, c.epoch) {
			c.touch(s)
		}
	}
}

// quit makes an endpoint no longer match t. Was is the endpoint as it was when it matched.
func (c *Cache) quit(t *term, id uint32, p *pod, was *Endpoint) {
	if !p.has(t.slot) {
		return
	}
	p.lose(t.slot)
	c.matched(t, -1)
	c.count(t, was, -1)
	for _, s := range t.sets {
		if !c.covered(s, p) && s.members.remove(id, c.epoch) {
			c.touch(s)
		}
	}
}

// covered reports whether p matches a term of s.
func (c *Cache) covered(s *set, p *pod) bool {
	if len(s.terms) <= len(p.terms) {
		for slot := range s.terms {
			if p.has(slot) {
				return true
			}
		}
		return false
	}
	for _, slot := range p.terms {
		if s.terms[slot] > 0 {
			return true
		}
	}
	return false
}

// count records that an endpoint starts or stops matching t.
func (c *Cache) count(t *term, e *Endpoint, by int) {
	if t.numbers == nil {
		return
	}
	n, ok := e.Number(t.spec.port.Name, t.spec.port.Protocol)
	if !ok || !t.numbers.add(n, by) {
		return
	}
	for _, s := range t.sets {
		s.dirtyNumbers = true
		c.touch(s)
	}
}
