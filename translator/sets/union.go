package sets

import (
	"slices"

	"github.com/netloom/netloom/pkg/intent"
)

// union is one way to compose a set from others.
type union struct {
	of    []intent.SetID
	count int // Refs that retain the set like this
	shown int // those of them that a snapshot shows, with the other sets
}

// unionRef is a set that Refs retain as the union of others.
type unionRef struct {
	set intent.SetID
	as  *union
}

// RetainUnion retains the set of spec as the union of sets that r retains too. As long as nothing needs it with members of its own, it is a
// composite set in snapshots, at no cost when members change. Spec has neither hosts nor Within.
func (t *Table) RetainUnion(r *Refs, spec Spec, of []intent.SetID) {
	spec = spec.canonical()
	id := spec.id()
	s := t.ref(id, spec)
	i, found := slices.BinarySearchFunc(s.unions, of, func(u *union, of []intent.SetID) int { return slices.Compare(u.of, of) })
	if !found {
		s.unions = slices.Insert(s.unions, i, &union{of: of})
	}
	s.unions[i].count++
	r.unions = append(r.unions, unionRef{id, s.unions[i]})
}

func (t *Table) releaseUnion(r unionRef) {
	s := t.retained[r.set]
	if r.as.count--; r.as.count == 0 {
		s.unions = slices.DeleteFunc(s.unions, func(u *union) bool { return u == r.as })
	}
	t.unref(r.set, s)
}

// showUnion adds to how many of the Refs that retain a set as the union of others are shown.
func (t *Table) showUnion(r unionRef, by int) {
	t.retained[r.set].shown += by
	r.as.shown += by
	t.touch(r.set)
}

// unionOf returns the sets that s is the union of in a snapshot, nil if it has members of its own.
func (s *retained) unionOf() []intent.SetID {
	if s.whole > 0 {
		return nil
	}
	for _, u := range s.unions {
		if u.shown > 0 {
			return u.of
		}
	}
	return nil
}
