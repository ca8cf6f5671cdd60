package review

import (
	"container/list"
	"time"
)

// kept holds answers until they expire. If there are too many, those that have not been used for longest are dropped. It is not safe
// for concurrent use.
type kept[T any] struct {
	ttl            time.Duration
	entries, bytes int // limits

	byKey map[digest]*list.Element // of *entry[T]
	order *list.List               // the most recently used one first
	size  int                      // bytes
}

type entry[T any] struct {
	key   digest
	found answer[T]
	size  int
	until time.Time
}

// entryBytes is about what an entry takes in addition to its value.
const entryBytes = 256

func newKept[T any](ttl time.Duration, entries, bytes int) *kept[T] {
	return &kept[T]{ttl: ttl, entries: entries, bytes: bytes, byKey: map[digest]*list.Element{}, order: list.New()}
}

// find returns the answer under key unless it has expired.
func (k *kept[T]) find(key digest, now time.Time) (answer[T], bool) {
	at, ok := k.byKey[key]
	if !ok {
		return answer[T]{}, false
	}
	one, _ := at.Value.(*entry[T])
	if !now.Before(one.until) {
		k.drop(at)
		return answer[T]{}, false
	}
	k.order.MoveToFront(at)
	return one.found, true
}

// keep stores an answer under key. One that is larger than all of them may be is not stored.
func (k *kept[T]) keep(key digest, found answer[T], now time.Time) {
	if at, ok := k.byKey[key]; ok {
		k.drop(at)
	}
	one := &entry[T]{key: key, found: found, size: entryBytes + found.size, until: now.Add(k.ttl)}
	if one.size > k.bytes {
		return
	}
	for len(k.byKey) >= k.entries || k.size+one.size > k.bytes {
		k.drop(k.order.Back())
	}
	k.byKey[key] = k.order.PushFront(one)
	k.size += one.size
}

func (k *kept[T]) drop(at *list.Element) {
	one, _ := k.order.Remove(at).(*entry[T])
	delete(k.byKey, one.key)
	k.size -= one.size
}
