package tungsten

import "container/heap"

// Tag IDs are the lowest free ones. The upper half is for those that a client chooses.
const (
	firstType = 0x00ff // of the types that are not predefined
	autoIDs   = 0x8000
)

// ids hands out the lowest free number.
type ids struct {
	next  int
	freed intHeap
	taken map[int]bool // of those that a client chose
}

// take returns the lowest free number; ok is false if there is none.
func (i *ids) take() (n int, ok bool) {
	if len(i.freed) > 0 {
		return heap.Pop(&i.freed).(int), true
	}
	if i.next >= autoIDs {
		return 0, false
	}
	i.next++
	return i.next - 1, true
}

// claim takes a chosen number; ok is false if it is taken.
func (i *ids) claim(n int) (ok bool) {
	if i.taken[n] {
		return false
	}
	if i.taken == nil {
		i.taken = make(map[int]bool)
	}
	i.taken[n] = true
	return true
}

func (i *ids) free(n int) {
	if n >= autoIDs {
		delete(i.taken, n)
		return
	}
	heap.Push(&i.freed, n)
}

// tagIDs are the numbers of tag types and, by type, of values.
type tagIDs struct {
	types  ids
	values map[string]*ids
}

func newTagIDs() tagIDs { return tagIDs{types: ids{next: firstType}, values: make(map[string]*ids)} }

// of is the numbers of a type's values.
func (t *tagIDs) of(typeName string) *ids {
	if t.values[typeName] == nil {
		t.values[typeName] = new(ids)
	}
	return t.values[typeName]
}

type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *intHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	*h = old[:len(old)-1]
	return n
}
