package owner

import "slices"

// Table lists, for each thing that has one owner at a time, all candidates. The first in the order of the table owns it.
type Table[K, C comparable] struct {
	compare func(a, b C) int
	asking  map[K][]C
}

// NewTable makes an empty table. No two candidates for the same thing may compare as equal.
func NewTable[K, C comparable](compare func(a, b C) int) *Table[K, C] {
	return &Table[K, C]{compare: compare, asking: map[K][]C{}}
}

// All returns all candidates for k, its owner first. The list is read-only, and valid until the table changes.
func (t *Table[K, C]) All(k K) []C { return t.asking[k] }

// Owner returns the owner of k; false if there is none.
func (t *Table[K, C]) Owner(k K) (C, bool) {
	if all := t.asking[k]; len(all) > 0 {
		return all[0], true
	}
	var none C
	return none, false
}

// Add adds c to the candidates for k, which it was not before. It reports whether there are others.
func (t *Table[K, C]) Add(k K, c C) (others bool) {
	asking := t.asking[k]
	i, _ := slices.BinarySearchFunc(asking, c, t.compare)
	t.asking[k] = slices.Insert(asking, i, c)
	return len(asking) > 0
}

// Remove removes c from the candidates for k. It must compare as it did when it was added. It reports whether others remain.
func (t *Table[K, C]) Remove(k K, c C) (others bool) {
	asking := t.asking[k]
	if i, found := slices.BinarySearchFunc(asking, c, t.compare); found {
		asking = slices.Delete(asking, i, i+1)
	}
	if len(asking) == 0 {
		delete(t.asking, k)
		return false
	}
	t.asking[k] = asking
	return true
}

// Len counts the things asked for.
func (t *Table[K, C]) Len() int { return len(t.asking) }
