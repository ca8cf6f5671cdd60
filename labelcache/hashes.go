package labelcache

import "slices"

// The shape of a hash index: a node is a sorted bucket of entries, or beyond bucketMax 16 children. Below bucketDepth
// the hash is used up and the bucket grows.
const (
	bucketMax   = 32
	bucketMin   = 16
	bucketDepth = 8
)

// hashes is a persistent index from hashes to slots. It does not know what was hashed: the caller has to check which of
// the slots is the right one. Like an idset it is a version. The zero value is empty.
type hashes struct{ root *hashNode }

type hashNode struct {
	epoch uint64
	n     int
	kids  *[16]*hashNode
	items []uint64 // hash << 32 | slot, sorted
}

// find lists the entries of a hash; slotOf reads them. The result is read-only.
func (h hashes) find(hash uint32) []uint64 {
	n := h.root
	for depth := uint(0); n != nil && n.kids != nil; depth++ {
		n = n.kids[hash>>(28-4*depth)%16]
	}
	if n == nil {
		return nil
	}
	i, _ := slices.BinarySearch(n.items, uint64(hash)<<32)
	k, _ := slices.BinarySearchFunc(n.items[i:], uint64(hash), func(entry, hash uint64) int {
		if entry>>32 <= hash {
			return -1 // k is behind all entries of the hash
		}
		return 1
	})
	return n.items[i : i+k]
}

// slotOf returns the slot of an entry.
func slotOf(entry uint64) uint32 { return uint32(entry & (1<<32 - 1)) }

// add inserts an entry, if it is not there.
func (h *hashes) add(hash, slot uint32, epoch uint64) {
	entry := uint64(hash)<<32 | uint64(slot)
	if _, ok := slices.BinarySearch(h.find(hash), entry); ok {
		return
	}
	if h.root == nil {
		h.root = &hashNode{epoch: epoch}
	}
	h.root = h.root.insert(entry, 0, epoch)
}

// remove removes an entry, if it is there.
func (h *hashes) remove(hash, slot uint32, epoch uint64) {
	entry := uint64(hash)<<32 | uint64(slot)
	if _, ok := slices.BinarySearch(h.find(hash), entry); ok {
		h.root = h.root.remove(entry, 0, epoch)
	}
}

func (n *hashNode) edit(epoch uint64) *hashNode {
	if n.epoch == epoch {
		return n
	}
	c := &hashNode{epoch: epoch, n: n.n}
	if n.kids != nil {
		k := *n.kids
		c.kids = &k
	} else {
		c.items = append(make([]uint64, 0, len(n.items)+1), n.items...)
	}
	return c
}

// pick returns the index of the child that an entry belongs to, for a node at the depth.
func pick(entry uint64, depth uint) uint64 { return entry >> (60 - 4*depth) % 16 }

func (n *hashNode) insert(entry uint64, depth uint, epoch uint64) *hashNode {
	n = n.edit(epoch)
	n.n++
	if n.kids == nil {
		i, _ := slices.BinarySearch(n.items, entry)
		if len(n.items) == cap(n.items) {
			n.items = append(make([]uint64, 0, len(n.items)+len(n.items)/4+2), n.items...)
		}
		n.items = slices.Insert(n.items, i, entry)
		if len(n.items) > bucketMax && depth < bucketDepth {
			n.split(depth)
		}
		return n
	}
	kid := &n.kids[pick(entry, depth)]
	if *kid == nil {
		*kid = &hashNode{epoch: epoch}
	}
	*kid = (*kid).insert(entry, depth+1, epoch)
	return n
}

// split distributes a bucket over children.
func (n *hashNode) split(depth uint) {
	n.kids = new([16]*hashNode)
	for rest := n.items; len(rest) > 0; {
		i := pick(rest[0], depth)
		k := 1
		for k < len(rest) && pick(rest[k], depth) == i {
			k++
		}
		n.kids[i] = &hashNode{epoch: n.epoch, n: k, items: slices.Clone(rest[:k])}
		rest = rest[k:]
	}
	n.items = nil
}

func (n *hashNode) remove(entry uint64, depth uint, epoch uint64) *hashNode {
	if n.n == 1 {
		return nil
	}
	n = n.edit(epoch)
	n.n--
	if n.kids == nil {
		i, _ := slices.BinarySearch(n.items, entry)
		n.items = slices.Delete(n.items, i, i+1)
		return n
	}
	kid := &n.kids[pick(entry, depth)]
	*kid = (*kid).remove(entry, depth+1, epoch)
	if n.n <= bucketMin {
		n.items = n.appendTo(make([]uint64, 0, n.n))
		n.kids = nil
	}
	return n
}

func (n *hashNode) appendTo(dst []uint64) []uint64 {
	if n == nil {
		return dst
	}
	if n.kids == nil {
		return append(dst, n.items...)
	}
	for _, k := range n.kids {
		dst = k.appendTo(dst)
	}
	return dst
}
