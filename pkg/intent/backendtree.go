package intent

import (
	"container/heap"
	"math/bits"
	"net/netip"
	"sort"
)

// branch is a part of a persistent binary trie of backends by address and port: a fork, a single backend, or, as the zero value, nothing.
// The trie is the same whatever it was made from, and no deeper than a key has bits.
type branch struct {
	fork *fork
	leaf *Backend
}

// fork is where keys differ that have the same bits before.
type fork struct {
	bit    uint8 // the first in which keys of the two differ
	count  int
	lowest uint64    // the lowest rank below
	below  [2]branch // neither is empty
}

// key orders backends: the family, the address, and the port.
type key [19]byte

func keyOf(at netip.AddrPort) key {
	var k key
	switch {
	case at.Addr().Is4():
		k[0] = 1
	case at.Addr().Is6():
		k[0] = 2
	}
	addr := at.Addr().As16()
	copy(k[1:], addr[:])
	k[17], k[18] = byte(at.Port()>>8), byte(at.Port()&0xff)
	return k
}

func (k *key) bit(i uint8) int { return int(k[i/8] >> (7 - i%8) & 1) }

// same is what difference returns for equal keys: more than any bit.
const same = 8 * uint8(len(key{}))

// difference returns the first bit in which two keys differ.
func (k *key) difference(o *key) uint8 {
	for i := range k {
		if x := k[i] ^ o[i]; x != 0 {
			return uint8(8*i + bits.LeadingZeros8(x)) //nolint:gosec // less than same
		}
	}
	return same
}

func newFork(bit uint8, below [2]branch) branch {
	return branch{fork: &fork{
		bit: bit, below: below, count: below[0].size() + below[1].size(), lowest: min(below[0].lowest(), below[1].lowest()),
	}}
}

// grown makes a branch of a sorted list.
func grown(list []*Backend) branch {
	switch len(list) {
	case 0:
		return branch{}
	case 1:
		return branch{leaf: list[0]}
	}
	first, last := keyOf(list[0].AddrPort()), keyOf(list[len(list)-1].AddrPort())
	bit := first.difference(&last)
	at := sort.Search(len(list), func(i int) bool {
		k := keyOf(list[i].AddrPort())
		return k.bit(bit) == 1
	})
	return newFork(bit, [2]branch{grown(list[:at]), grown(list[at:])})
}

func (b branch) size() int {
	switch {
	case b.fork != nil:
		return b.fork.count
	case b.leaf != nil:
		return 1
	default:
		return 0
	}
}

// lowest returns the lowest rank of what is not empty.
func (b branch) lowest() uint64 {
	if b.fork != nil {
		return b.fork.lowest
	}
	return rankOf(b.leaf)
}

// nearest returns the backend with a key, if there is one, otherwise one that has as many of its first bits as any, nil if there is none.
func (b branch) nearest(k *key) *Backend {
	for b.fork != nil {
		b = b.fork.below[k.bit(b.fork.bit)]
	}
	return b.leaf
}

func (b branch) get(k *key) *Backend {
	near := b.nearest(k)
	if near == nil || keyOf(near.AddrPort()) != *k {
		return nil
	}
	return near
}

func (b branch) with(k *key, leaf *Backend) branch {
	near := b.nearest(k)
	if near == nil {
		return branch{leaf: leaf}
	}
	other := keyOf(near.AddrPort())
	return b.insert(k, k.difference(&other), leaf)
}

// insert adds a backend whose key differs from those closest to it in a bit, or is the same.
func (b branch) insert(k *key, differs uint8, leaf *Backend) branch {
	switch {
	case b.fork != nil && b.fork.bit < differs:
		below := b.fork.below
		side := k.bit(b.fork.bit)
		below[side] = below[side].insert(k, differs, leaf)
		return newFork(b.fork.bit, below)
	case differs == same:
		return branch{leaf: leaf}
	default:
		var below [2]branch
		side := k.bit(differs)
		below[side], below[1-side] = branch{leaf: leaf}, b
		return newFork(differs, below)
	}
}

func (b branch) without(k *key) branch {
	if b.fork == nil {
		if b.get(k) != nil {
			return branch{}
		}
		return b
	}
	below, side := b.fork.below, k.bit(b.fork.bit)
	now := below[side].without(k)
	switch now {
	case below[side]:
		return b
	case branch{}:
		return below[1-side]
	}
	below[side] = now
	return newFork(b.fork.bit, below)
}

func (b branch) all(yield func(*Backend) bool) { b.visit(yield) }

// visit yields every backend in order, until yield returns false, as visit does then.
func (b branch) visit(yield func(*Backend) bool) bool {
	switch {
	case b.fork != nil:
		return b.fork.below[0].visit(yield) && b.fork.below[1].visit(yield)
	case b.leaf != nil:
		return yield(b.leaf)
	default:
		return true
	}
}

func (b branch) equal(o branch) bool {
	switch {
	case b == o:
		return true
	case b.fork != nil && o.fork != nil:
		return b.fork.bit == o.fork.bit && b.fork.count == o.fork.count && b.fork.lowest == o.fork.lowest &&
			b.fork.below[0].equal(o.fork.below[0]) && b.fork.below[1].equal(o.fork.below[1])
	default:
		return b.leaf != nil && o.leaf != nil && b.leaf.Equal(o.leaf)
	}
}

// lowest returns n backends of branches, those with the lowest ranks, in the order of these. The cost is that of n paths.
func lowest(n int, from ...branch) []*Backend {
	var next byRank
	total := 0
	for _, b := range from {
		if b != (branch{}) {
			next, total = append(next, ranked{b.lowest(), b}), total+b.size()
		}
	}
	heap.Init(&next)
	out := make([]*Backend, 0, min(n, total))
	for len(out) < cap(out) {
		b := next[0].branch
		if b.fork == nil {
			out = append(out, b.leaf)
			heap.Pop(&next)
			continue
		}
		first, second := b.fork.below[0], b.fork.below[1]
		next[0] = ranked{first.lowest(), first}
		heap.Fix(&next, 0)
		heap.Push(&next, ranked{second.lowest(), second})
	}
	return out
}

// ranked is a branch with the lowest rank in it.
type ranked struct {
	rank uint64
	branch
}

// byRank is a heap of branches, that with the lowest rank first. Of equals, a fork is first, since there may be a lower address in it.
type byRank []ranked

func (h byRank) Len() int      { return len(h) }
func (h byRank) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h byRank) Less(i, j int) bool {
	a, b := &h[i], &h[j]
	switch {
	case a.rank != b.rank:
		return a.rank < b.rank
	case a.leaf == nil || b.leaf == nil:
		return a.leaf == nil
	default:
		return a.leaf.Compare(b.leaf) < 0
	}
}
func (h *byRank) Push(x any) { *h = append(*h, x.(ranked)) }
func (h *byRank) Pop() any {
	last := len(*h) - 1
	b := (*h)[last]
	*h = (*h)[:last]
	return b
}

// rankOf is the FNV-1a hash of an address and port: package hash/fnv would allocate for each.
func rankOf(b *Backend) uint64 {
	h := uint64(14695981039346656037)
	add := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for _, b := range b.Addr.As16() {
		add(b)
	}
	add(byte(b.Port >> 8))
	add(byte(b.Port & 0xff))
	return h
}
