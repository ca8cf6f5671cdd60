package labelcache

import (
	"hash/maphash"
	"iter"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/object"
)

// state is all that a view shows.
type state struct {
	revision  uint64
	seed      maphash.Seed
	endpoints table[Endpoint]
	live      int // how many endpoints there are
	keys      hashes
	addrs     hashes
	v4, v6    bool
	sets      table[setState]
	setIndex  hashes
	tags      table[tagState]
	tagIndex  hashes
	spaces    table[object.Key] // namespaces that are known; no name
}

// setState is a set as a view shows it.
type setState struct {
	id      SetID
	members idset
	numbers []uint16
}

// tagState is a tag as a view shows it. The objects are slots of endpoints or of namespaces.
type tagState struct {
	tag     Tag
	objects idset
}

// hashOf returns the hash of a key in the indexes of a cache.
func hashOf[T comparable](seed maphash.Seed, v T) uint32 {
	return uint32(maphash.Comparable(seed, v) & (1<<32 - 1))
}

// hasAddr reports whether a member has a.
func (s *state) hasAddr(members idset, a netip.Addr) bool {
	for _, e := range s.addrs.find(hashOf(s.seed, a)) {
		if id := slotOf(e); members.has(id) && slices.Contains(s.endpoints.get(id).Addrs, a) {
			return true
		}
	}
	return false
}

// shares reports whether a member shares a with another endpoint.
func (s *state) shares(members idset, a netip.Addr) bool {
	for _, e := range s.addrs.find(hashOf(s.seed, a)) {
		if id := slotOf(e); members.has(id) && slices.Contains(s.endpoints.get(id).Shared, a) {
			return true
		}
	}
	return false
}

// slot finds an endpoint.
func (s *state) slot(k object.Key) (uint32, bool) {
	for _, e := range s.keys.find(hashOf(s.seed, k)) {
		if id := slotOf(e); s.endpoints.get(id).Key == k {
			return id, true
		}
	}
	return 0, false
}

// set returns a set, nil if there is none.
func (s *state) set(id SetID) *setState {
	for _, e := range s.setIndex.find(hashOf(s.seed, id)) {
		if set := s.sets.get(slotOf(e)); set.id == id {
			return set
		}
	}
	return nil
}

// View is the content of a cache at one commit. It is immutable and safe for concurrent use. The zero value is empty.
type View struct{ s *state }

// state returns what v shows, never nil.
func (v View) state() *state {
	if v.s == nil {
		return &state{seed: maphash.MakeSeed()}
	}
	return v.s
}

// Revision numbers the views of a cache, upwards from zero, the empty one.
func (v View) Revision() uint64 { return v.state().revision }

// Set finds a set.
func (v View) Set(id SetID) (Members, bool) {
	s := v.state()
	set := s.set(id)
	if set == nil {
		return Members{}, false
	}
	return Members{s, set.members}, true
}

// Sets yields every set, in no particular order.
func (v View) Sets() iter.Seq2[SetID, Members] {
	return func(yield func(SetID, Members) bool) {
		s := v.state()
		s.sets.each(func(set *setState) bool { return yield(set.id, Members{s, set.members}) })
	}
}

// Numbers lists the distinct port numbers to which members resolve the terms of a set that leave the number open, in
// ascending order. The slice is read-only.
func (v View) Numbers(id SetID) []uint16 {
	if set := v.state().set(id); set != nil {
		return set.numbers
	}
	return nil
}

// Endpoint finds an endpoint.
func (v View) Endpoint(k object.Key) (*Endpoint, bool) {
	s := v.state()
	id, ok := s.slot(k)
	if !ok {
		return nil, false
	}
	return s.endpoints.get(id), true
}

// Endpoints yields every endpoint, in no particular order.
func (v View) Endpoints() iter.Seq[*Endpoint] {
	return func(yield func(*Endpoint) bool) { v.state().endpoints.each(yield) }
}

// EndpointCount counts the endpoints.
func (v View) EndpointCount() int { return v.state().live }

// Subjects counts the endpoints as reports do, see object.Key.Subject, and reports whether some of them are made up.
func (v View) Subjects() (n int, standIns bool) {
	found := map[object.Key]bool{}
	for e := range v.Endpoints() {
		if e.Key.StandsIn() {
			found[e.Key.Subject()] = true
		} else {
			n++
		}
	}
	return n + len(found), len(found) > 0
}

// Families reports whether any endpoint has an address of the family.
func (v View) Families() (v4, v6 bool) { return v.state().v4, v.state().v6 }

// Tags yields every tag that an object has, in no particular order.
func (v View) Tags() iter.Seq[Tag] {
	return func(yield func(Tag) bool) {
		v.state().tags.each(func(t *tagState) bool { return yield(t.tag) })
	}
}

// Tagged yields the objects that have t, in no particular order. For a namespace label they are namespaces: keys
// without a name.
func (v View) Tagged(t Tag) iter.Seq[object.Key] {
	return func(yield func(object.Key) bool) {
		s := v.state()
		for _, e := range s.tagIndex.find(hashOf(s.seed, t)) {
			if ts := s.tags.get(slotOf(e)); ts.tag == t {
				ts.objects.each(func(id uint32) bool {
					if t.Kind == NamespaceLabel {
						return yield(*s.spaces.get(id))
					}
					return yield(s.endpoints.get(id).Key)
				})
				return
			}
		}
	}
}

// Members lists the endpoints that belong to a set in one view. It is immutable and safe for concurrent use. The zero value has no members.
type Members struct {
	s   *state
	ids idset
}

// Len counts the endpoints.
func (m Members) Len() int { return m.ids.len() }

// All yields each endpoint once, in no particular order.
func (m Members) All() iter.Seq[*Endpoint] {
	return func(yield func(*Endpoint) bool) {
		m.ids.each(func(id uint32) bool { return yield(m.s.endpoints.get(id)) })
	}
}

// HasKey reports whether the endpoint k is a member.
func (m Members) HasKey(k object.Key) bool {
	if m.s == nil {
		return false
	}
	id, ok := m.s.slot(k)
	return ok && m.ids.has(id)
}

// HasAddr reports whether some member has a.
func (m Members) HasAddr(a netip.Addr) bool { return m.s != nil && m.s.hasAddr(m.ids, a) }

// HasSharedAddr reports whether a is among the shared addresses of some member.
func (m Members) HasSharedAddr(a netip.Addr) bool { return m.s != nil && m.s.shares(m.ids, a) }

// Union returns the union of the members of several sets of one cache. The members may be from different views: an endpoint that belongs to
// a set that has not changed since has the same addresses in the newest of them. It takes time proportional to the number of members.
func Union(list []Members) Members {
	var out Members
	for _, m := range list {
		if m.s == nil {
			continue
		}
		if out.s == nil || m.s.revision > out.s.revision {
			out.s = m.s
		}
		m.ids.each(func(id uint32) bool {
			out.ids.add(id, private)
			return true
		})
	}
	return out
}

// Since lists who joined and who left since was, an earlier state of a set of the same cache, in no particular order. A
// member that stays but whose addresses or node changed is in both: in left as it was, in joined as it is. One that was removed
// and put again meanwhile may be in both too. Addresses are compared only where an endpoint was put again.
func (m Members) Since(was Members) (joined, left []*Endpoint) {
	diff(was.ids, m.ids, func(id uint32, added bool) {
		if added {
			joined = append(joined, m.s.endpoints.get(id))
		} else {
			left = append(left, was.s.endpoints.get(id))
		}
	})
	m.ids.each(func(id uint32) bool {
		if !was.ids.has(id) {
			return true
		}
		// Another endpoint may have the slot by now.
		if old, now := was.s.endpoints.get(id), m.s.endpoints.get(id); old != now && (old.Key != now.Key || moved(old, now)) {
			left, joined = append(left, old), append(joined, now)
		}
		return true
	})
	return joined, left
}
