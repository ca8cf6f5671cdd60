package intent

import (
	"iter"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/object"
)

// Uniter is implemented by Members that can be combined with others of their kind.
type Uniter interface {
	// Union returns the members of all of them. It returns false if others are of another kind.
	Union(others []Members) (Members, bool)
}

// unionMembers is the combined members of several sets. Looking one up is as cheap as in each of them; operations on all members combine
// them first, at a cost that depends on their number.
type unionMembers []Members

// resolved returns a set with its members, which may be those of other sets. Nil is nil.
func (s *Snapshot) resolved(set *Set) *Set {
	if set == nil || set.UnionOf == nil {
		return set
	}
	whole := *set
	var members unionMembers
	for _, id := range set.UnionOf {
		if part := s.Set(id); part != nil && part.Members != nil {
			members = append(members, part.Members)
		}
	}
	switch len(members) {
	case 0:
	case 1:
		whole.Members = members[0]
	default:
		whole.Members = members
	}
	return &whole
}

// Sources lists the sets whose changes change the members of a set: itself, or those that it is composed of.
func (s *Snapshot) Sources(id SetID) []SetID {
	if of := s.partsOf(id); of != nil {
		return of
	}
	return []SetID{id}
}

// partsOf returns the sets that a set is composed of, nil if it has members of its own or does not exist.
func (s *Snapshot) partsOf(id SetID) []SetID {
	if set, ok := s.sets.Get([]byte(id)); ok {
		return set.UnionOf
	}
	return nil
}

// contains reports whether a is an address of a member or lies within a prefix of a set.
func (s *Snapshot) contains(id SetID, a netip.Addr) bool {
	set, _ := s.sets.Get([]byte(id))
	if set == nil || set.UnionOf == nil {
		return set.Contains(a)
	}
	return slices.ContainsFunc(set.UnionOf, func(part SetID) bool { return s.contains(part, a) })
}

// merged returns the members as those of one set.
func (u unionMembers) merged() Members {
	if first, ok := u[0].(Uniter); ok {
		if all, ok := first.Union(u[1:]); ok {
			return all
		}
	}
	seen := map[object.Key]struct{}{}
	out := listedMembers{unionMembers: u}
	for _, m := range u {
		for e := range m.All() {
			if _, twice := seen[e.Key]; !twice {
				seen[e.Key] = struct{}{}
				out.list = append(out.list, e)
			}
		}
	}
	return out
}

// Len implements Members.
func (u unionMembers) Len() int { return u.merged().Len() }

// All implements Members.
func (u unionMembers) All() iter.Seq[Endpoint] { return u.merged().All() }

// HasKey implements Members.
func (u unionMembers) HasKey(k object.Key) bool {
	return slices.ContainsFunc(u, func(m Members) bool { return m.HasKey(k) })
}

// HasAddr implements Members.
func (u unionMembers) HasAddr(a netip.Addr) bool {
	return slices.ContainsFunc(u, func(m Members) bool { return m.HasAddr(a) })
}

// HasSharedAddr implements Members.
func (u unionMembers) HasSharedAddr(a netip.Addr) bool {
	return slices.ContainsFunc(u, func(m Members) bool { return m.HasSharedAddr(a) })
}

// listedMembers is unionMembers with a list of all of them, each once.
type listedMembers struct {
	unionMembers

	list []Endpoint
}

// Len implements Members.
func (l listedMembers) Len() int { return len(l.list) }

// All implements Members.
func (l listedMembers) All() iter.Seq[Endpoint] { return slices.Values(l.list) }
