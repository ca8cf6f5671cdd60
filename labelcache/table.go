package labelcache

// The width of a table's nodes.
const (
	tableBits = 5
	tableFan  = 1 << tableBits
)

// table is a persistent array of pointers, indexed by slot. Like an idset it is a version that stays as it is while
// others are changed under other epochs. The zero value holds nil everywhere.
type table[T any] struct {
	root  *tableNode[T]
	level uint8
}

// tableNode holds values at level zero and children above.
type tableNode[T any] struct {
	epoch uint64
	kids  *[tableFan]*tableNode[T]
	vals  *[tableFan]*T
}

// get returns the value in a slot, nil if nothing was put.
func (t table[T]) get(i uint32) *T {
	if uint64(i)>>(tableBits*uint(t.level+1)) != 0 {
		return nil
	}
	n := t.root
	for level := t.level; level > 0 && n != nil; level-- {
		n = n.kids[i>>(tableBits*uint(level))%tableFan]
	}
	if n == nil {
		return nil
	}
	return n.vals[i%tableFan]
}

// set stores a value in a slot.
func (t *table[T]) set(i uint32, v *T, epoch uint64) {
	for uint64(i)>>(tableBits*uint(t.level+1)) != 0 {
		if t.root != nil {
			t.root = &tableNode[T]{epoch: epoch, kids: &[tableFan]*tableNode[T]{t.root}}
		}
		t.level++
	}
	t.root = t.root.edit(epoch, t.level)
	n := t.root
	for level := t.level; level > 0; level-- {
		kid := &n.kids[i>>(tableBits*uint(level))%tableFan]
		*kid = (*kid).edit(epoch, level-1)
		n = *kid
	}
	n.vals[i%tableFan] = v
}

func (n *tableNode[T]) edit(epoch uint64, level uint8) *tableNode[T] {
	if n != nil && n.epoch == epoch {
		return n
	}
	c := &tableNode[T]{epoch: epoch}
	switch {
	case n == nil && level == 0:
		c.vals = new([tableFan]*T)
	case n == nil:
		c.kids = new([tableFan]*tableNode[T])
	case level == 0:
		v := *n.vals
		c.vals = &v
	default:
		k := *n.kids
		c.kids = &k
	}
	return c
}

// each calls f with every value until it returns false, in the order of slots.
func (t table[T]) each(f func(*T) bool) { t.root.each(f) }

func (n *tableNode[T]) each(f func(*T) bool) bool {
	if n == nil {
		return true
	}
	if n.vals != nil {
		for _, v := range n.vals {
			if v != nil && !f(v) {
				return false
			}
		}
		return true
	}
	for _, k := range n.kids {
		if !k.each(f) {
			return false
		}
	}
	return true
}

// slots allocates the slots of a table, lowest first if none was given back.
type slots struct {
	free []uint32
	next uint32
}

func (s *slots) take() uint32 {
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		return slot
	}
	s.next++
	return s.next - 1
}

func (s *slots) give(slot uint32) { s.free = append(s.free, slot) }

// taken counts the slots that were taken and not given back.
func (s *slots) taken() int { return int(s.next) - len(s.free) }
