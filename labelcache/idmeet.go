package labelcache

import "math/bits"

// meet calls f with every id that is in both sets, in ascending order. The cost depends on the set that has fewer ids and on the
// nodes that cover ids of both.
func meet(a, b idset, f func(id uint32)) {
	a.lift(b.level)
	b.lift(a.level)
	meetNodes(a.root, b.root, max(a.level, b.level), 0, f)
}

func meetNodes(a, b *idnode, level uint8, from uint32, f func(uint32)) {
	switch {
	case a == nil || b == nil:
	case a.kids != nil && b.kids != nil:
		for i := range a.kids {
			meetNodes(a.kids[i], b.kids[i], level-1, from+uint32(i)<<shift(level), f)
		}
	case a.words != nil && b.words != nil:
		for i, w := range a.words {
			for w &= b.words[i]; w != 0; w &= w - 1 {
				f(from + uint32(i*64+bits.TrailingZeros64(w))) //nolint:gosec // G115: below 4096.
			}
		}
	default:
		if !a.isFlat() || b.isFlat() && b.n < a.n {
			a, b = b, a
		}
		for _, id := range a.flat {
			// A root that is flat may have ids beyond the level.
			if (b.isFlat() || !outside(id-from, level)) && b.has(id, level) {
				f(id)
			}
		}
	}
}
