package labelcache

import (
	"math/bits"
	"slices"
)

// The shape of an idset. A node with few ids holds them in a sorted array, whatever range it covers. Beyond flatMax it
// becomes a bitmap at the lowest level and 16 children elsewhere; it goes back to an array at flatMin.
const (
	leafBits  = 12
	leafWords = 1 << leafBits / 64
	fanBits   = 4
	fan       = 1 << fanBits
	flatMax   = 128
	flatMin   = 96
)

// private is the epoch of trees that are never published: their nodes are always changed in place.
const private uint64 = 0

// idset is a persistent set of small integers. A copy of the struct is a version of the set: it stays as it is while
// others are changed, as long as no two changes to different versions carry the same epoch. The zero value is empty.
type idset struct {
	root  *idnode
	level uint8 // of the root; meaningless while the root is flat
}

// idnode is a part of an idset. It may be changed only under its epoch. Exactly one of flat, kids and words is in use.
// At level l it covers 2^(leafBits+l*fanBits) ids.
type idnode struct {
	epoch uint64
	n     int
	flat  []uint32 // sorted
	kids  *[fan]*idnode
	words *[leafWords]uint64
}

func (n *idnode) isFlat() bool { return n.kids == nil && n.words == nil }

// shift returns how many low bits of an id are left to the children of a node at a level above zero.
func shift(level uint8) uint { return leafBits + fanBits*uint(level-1) }

// outside reports whether id is beyond the range of a root at the level.
func outside(id uint32, level uint8) bool { return uint64(id)>>(leafBits+fanBits*uint(level)) != 0 }

// len counts the ids.
func (s idset) len() int {
	if s.root == nil {
		return 0
	}
	return s.root.n
}

// has reports whether id is in s.
func (s idset) has(id uint32) bool {
	if s.root == nil || !s.root.isFlat() && outside(id, s.level) {
		return false
	}
	return s.root.has(id, s.level)
}

// has reports whether n, a node at the level, has an id of those that it covers.
func (n *idnode) has(id uint32, level uint8) bool {
	for n != nil {
		switch {
		case n.words != nil:
			return n.words[id>>6%leafWords]>>(id%64)&1 != 0
		case n.kids != nil:
			n = n.kids[id>>shift(level)%fan]
			level--
		default:
			_, ok := slices.BinarySearch(n.flat, id)
			return ok
		}
	}
	return false
}

// add adds id to s and reports whether it was not there.
func (s *idset) add(id uint32, epoch uint64) bool {
	if s.root == nil {
		s.root = &idnode{epoch: epoch, n: 1, flat: []uint32{id}}
		return true
	}
	if s.has(id) {
		return false
	}
	if s.root.isFlat() {
		if s.root.n == flatMax {
			s.level = 0
			for outside(max(id, s.root.flat[flatMax-1]), s.level) {
				s.level++
			}
		}
	} else {
		for outside(id, s.level) {
			s.root = &idnode{epoch: epoch, n: s.root.n, kids: &[fan]*idnode{s.root}}
			s.level++
		}
	}
	s.root = s.root.insert(s.level, id, epoch)
	return true
}

// remove removes id from s and reports whether it was there.
func (s *idset) remove(id uint32, epoch uint64) bool {
	if !s.has(id) {
		return false
	}
	s.root = s.root.remove(s.level, id, epoch)
	return true
}

// edit returns n itself if the epoch owns it, else a copy that it owns.
func (n *idnode) edit(epoch uint64) *idnode {
	if n.epoch == epoch {
		return n
	}
	c := &idnode{epoch: epoch, n: n.n}
	switch {
	case n.words != nil:
		w := *n.words
		c.words = &w
	case n.kids != nil:
		k := *n.kids
		c.kids = &k
	default:
		c.flat = append(make([]uint32, 0, len(n.flat)+1), n.flat...)
	}
	return c
}

// insert adds an id that n lacks.
func (n *idnode) insert(level uint8, id uint32, epoch uint64) *idnode {
	if n.isFlat() && n.n == flatMax {
		n = n.split(level, epoch)
	}
	n = n.edit(epoch)
	n.n++
	switch {
	case n.words != nil:
		n.words[id>>6%leafWords] |= 1 << (id % 64)
	case n.kids != nil:
		kid := &n.kids[id>>shift(level)%fan]
		if *kid == nil {
			*kid = &idnode{epoch: epoch, n: 1, flat: []uint32{id}}
		} else {
			*kid = (*kid).insert(level-1, id, epoch)
		}
	default:
		i, _ := slices.BinarySearch(n.flat, id)
		if len(n.flat) == cap(n.flat) { // grow by less than append does: there are many small sets
			n.flat = append(make([]uint32, 0, len(n.flat)+len(n.flat)/4+2), n.flat...)
		}
		n.flat = slices.Insert(n.flat, i, id)
	}
	return n
}

// remove removes an id that n has. It returns nil for the last one.
func (n *idnode) remove(level uint8, id uint32, epoch uint64) *idnode {
	if n.n == 1 {
		return nil
	}
	n = n.edit(epoch)
	n.n--
	switch {
	case n.words != nil:
		n.words[id>>6%leafWords] &^= 1 << (id % 64)
	case n.kids != nil:
		kid := &n.kids[id>>shift(level)%fan]
		*kid = (*kid).remove(level-1, id, epoch)
	default:
		i, _ := slices.BinarySearch(n.flat, id)
		n.flat = slices.Delete(n.flat, i, i+1)
		return n
	}
	if n.n <= flatMin {
		n.flat, n.kids, n.words = n.list(level, base(id, level)), nil, nil
	}
	return n
}

// base returns the first id of the node at the level that covers id.
func base(id uint32, level uint8) uint32 {
	return uint32(uint64(id) >> (leafBits + fanBits*uint(level)) << (leafBits + fanBits*uint(level)) & (1<<32 - 1))
}

// split distributes a full array over a bitmap or children.
func (n *idnode) split(level uint8, epoch uint64) *idnode {
	c := &idnode{epoch: epoch, n: n.n}
	if level == 0 {
		c.words = new([leafWords]uint64)
		for _, id := range n.flat {
			c.words[id>>6%leafWords] |= 1 << (id % 64)
		}
		return c
	}
	c.kids = new([fan]*idnode)
	for rest := n.flat; len(rest) > 0; {
		i := rest[0] >> shift(level) % fan
		k := 1
		for k < len(rest) && rest[k]>>shift(level)%fan == i {
			k++
		}
		c.kids[i] = &idnode{epoch: epoch, n: k, flat: slices.Clone(rest[:k])}
		rest = rest[k:]
	}
	return c
}

// list returns the ids below n in ascending order, read-only; from is the first id that n covers.
func (n *idnode) list(level uint8, from uint32) []uint32 {
	if n == nil {
		return nil
	}
	if n.isFlat() {
		return n.flat
	}
	ids := make([]uint32, 0, n.n)
	n.each(level, from, func(id uint32) bool { ids = append(ids, id); return true })
	return ids
}

// each calls f with every id below n in ascending order until it returns false, and reports whether it visited all.
func (n *idnode) each(level uint8, from uint32, f func(uint32) bool) bool {
	switch {
	case n == nil:
	case n.words != nil:
		for i, w := range n.words {
			for ; w != 0; w &= w - 1 {
				if !f(from + uint32(i*64+bits.TrailingZeros64(w))) { //nolint:gosec // G115: below 4096.
					return false
				}
			}
		}
	case n.kids != nil:
		for i, k := range n.kids {
			if k != nil && !k.each(level-1, from+uint32(i)<<shift(level), f) {
				return false
			}
		}
	default:
		for _, id := range n.flat {
			if !f(id) {
				return false
			}
		}
	}
	return true
}

// each calls f with every id in ascending order until it returns false.
func (s idset) each(f func(uint32) bool) { s.root.each(s.level, 0, f) }
