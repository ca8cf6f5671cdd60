package labelcache

import "math/bits"

// diff calls f with every id that is in only one of two sets; added says that it is in b. The cost depends on the parts
// that the two do not share.
func diff(a, b idset, f func(id uint32, added bool)) {
	a.lift(b.level)
	b.lift(a.level)
	diffNodes(a.root, b.root, a.level, 0, f)
}

// lift raises the root of s to the level, unless it is flat.
func (s *idset) lift(level uint8) {
	for s.root != nil && !s.root.isFlat() && s.level < level {
		s.root = &idnode{n: s.root.n, kids: &[fan]*idnode{s.root}}
		s.level++
	}
	s.level = max(s.level, level)
}

func diffNodes(a, b *idnode, level uint8, from uint32, f func(uint32, bool)) {
	switch {
	case a == b:
	case a != nil && b != nil && a.kids != nil && b.kids != nil:
		for i := range a.kids {
			diffNodes(a.kids[i], b.kids[i], level-1, from+uint32(i)<<shift(level), f)
		}
	case a != nil && b != nil && a.words != nil && b.words != nil:
		for i, w := range a.words {
			for d := w ^ b.words[i]; d != 0; d &= d - 1 {
				k := bits.TrailingZeros64(d)
				f(from+uint32(i*64+k), b.words[i]>>k&1 != 0) //nolint:gosec // G115: below 4096.
			}
		}
	default:
		diffSorted(a.list(level, from), b.list(level, from), f)
	}
}

func diffSorted(a, b []uint32, f func(uint32, bool)) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			f(a[0], false)
			a = a[1:]
		case a[0] > b[0]:
			f(b[0], true)
			b = b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	for _, id := range a {
		f(id, false)
	}
	for _, id := range b {
		f(id, true)
	}
}
