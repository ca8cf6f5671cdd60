package owner

import "slices"

// Table lists, for each thing that has one owner at a time, all that ask for it. The first in the order of the table owns it.
type Table[K, C comparable] struct {
	compare func(a, b C) int
	asking  map[K][]C
}

// NewTable makes an empty table. No two that ask for the same thing may compare as equal.
func NewTable[K, C comparable](compare func(a, b C) int) *Table[K, C] {
	return &Table[K, C]{compare: compare, asking: map[K][]C{}}
}

// All returns all that ask for k, its owner first. The list is read-only and does not change with the table.
func (t *Table[K, C]) All(k K) []C { return t.asking[k] }

// Owner returns the owner of k; false if none asks for it.
func (t *Table[K, C]) Owner(k K) (C, bool) {
	if all := t.asking[k]; len(all) > 0 {
		return all[0], true
	}
	var none C
	return none, false
}

// Add records that c asks for k, which it did not before. It returns the others that do.
func (t *Table[K, C]) Add(k K, c C) (others []C) {
	others = t.asking[k]
	i, _ := slices.BinarySearchFunc(others, c, t.compare)
	t.asking[k] = slices.Insert(slices.Clone(others), i, c)
	return others
}

// Remove records that c no longer asks for k. It returns the others that do.
func (t *Table[K, C]) Remove(k K, c C) (others []C) {
	others = slices.DeleteFunc(slices.Clone(t.asking[k]), func(o C) bool { return o == c })
	if len(others) == 0 {
		delete(t.asking, k)
		return nil
	}
	t.asking[k] = others
	return others
}

// Len counts the things asked for.
func (t *Table[K, C]) Len() int { return len(t.asking) }
