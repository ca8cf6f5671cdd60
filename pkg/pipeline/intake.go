package pipeline

import (
	"slices"
	"time"

	"github.com/netloom/netloom/pkg/object"
)

// How many changes of busy namespaces go into one snapshot, in bytes as the translator estimates them. Further changes wait for the next
// one, so that they do not delay those of others.
const (
	// lightMost is how much a namespace may change to have all of its changes in the next snapshot.
	lightMost = 256 << 10
	// sliceSize is how much of the other namespaces goes into a snapshot in total. A single object may exceed it.
	sliceSize = 1 << 20
	// mostQueued is how many changes of a namespace wait one by one. If there are more, they go into one snapshot.
	mostQueued = 4096
	// prefixesOfSlice is how many prefixes of a larger object are announced with a snapshot.
	prefixesOfSlice = 500
	// mostPassed is how many snapshots with other changes in a row have no slice.
	mostPassed = 4
)

// change is an object in the state in which it was taken from the source.
type change struct {
	ref    object.Ref
	object any // nil if it is gone
	cost   int64
	since  time.Time
}

// intake shares the translator between namespaces. Policies and Services wait in two queues of their namespace and are taken in
// their order, so that every snapshot has policies that the namespace had at one time. They concern its own pods and addresses only.
// Cluster-wide policies have a queue of their own: a few of them never wait, and a flood of them delays only others like them.
// Everything else is taken at once, because the pods of one namespace are peers in others. There is no order between kinds to keep,
// since each kind is watched separately. The zero value is empty.
type intake struct {
	free   []change // those that do not wait
	queues map[string]*queue
	turn   string // whose turn it was last
	chosen string // whose turn it is next, if next was called since; "" otherwise
	passed int    // how many snapshots with other changes have had no slice since the last one that had
}

// queue is the policies or the Services that a namespace has changed, oldest first.
type queue struct {
	changes []change
	cost    int64
}

func (q *intake) add(c change) {
	var name string
	switch kind := c.ref.Kind; {
	case object.IsPolicy(kind):
		name = c.ref.Namespace + "/policies"
	case kind == object.KindService, kind == object.KindEndpointSlice, kind == object.KindEndpoints, kind == object.KindServiceImport:
		name = c.ref.Namespace + "/services"
	default:
		q.free = append(q.free, c)
		return
	}
	of := q.queues[name]
	if of == nil {
		if q.queues == nil {
			q.queues = map[string]*queue{}
		}
		of = &queue{}
		q.queues[name] = of
	}
	of.changes = append(of.changes, c)
	of.cost += c.cost
}

// waits reports whether changes have to be taken as slices.
func (q *intake) waits() bool { return len(q.queues) > 0 }

// oldest is since when the oldest change waits; zero if there is none.
func (q *intake) oldest() time.Time {
	var oldest time.Time
	for _, of := range q.queues {
		if since := of.changes[0].since; oldest.IsZero() || since.Before(oldest) {
			oldest = since
		}
	}
	return oldest
}

// all takes everything, in no particular order of namespaces.
func (q *intake) all() []change {
	out := q.takeFree()
	for _, name := range q.names() {
		out = append(out, q.queues[name].changes...)
	}
	q.queues = nil
	return out
}

// light takes the changes that do not wait, and those of namespaces with few changes.
func (q *intake) light() []change {
	out := q.takeFree()
	for _, name := range q.names() {
		if of := q.queues[name]; of.cost <= lightMost {
			out = append(out, of.changes...)
			delete(q.queues, name)
		}
	}
	return out
}

func (q *intake) takeFree() []change {
	out := q.free
	q.free = nil
	return out
}

// order lists the queues in the order of their turns.
func (q *intake) order() []string {
	names := q.names()
	first, chosen := slices.BinarySearch(names, q.chosen)
	if !chosen {
		first, _ = slices.BinarySearch(names, q.turn+"\x00") // the first one after it
	}
	return slices.Concat(names[first:], names[:first])
}

// next returns the first change of the next slice, whatever is added before that is taken; no change if none wait. What the slice may have is
// estimated again: what was put since may have used up the budget of the namespace, and objects beyond it cost little.
func (q *intake) next(estimate func(any) int64) change {
	names := q.order()
	if len(names) == 0 {
		return change{}
	}
	q.chosen = names[0]
	of := q.queues[q.chosen]
	left := int64(sliceSize)
	for i := range of.changes {
		c := &of.changes[i]
		if c.object != nil {
			of.cost -= c.cost
			c.cost = estimate(c.object)
			of.cost += c.cost
		}
		if left -= c.cost; left < 0 {
			break
		}
	}
	return of.changes[0]
}

// mayFollow reports whether a snapshot may have a slice. One with other changes has none, so that they do not wait for it to be written, but
// for one in every few.
func (q *intake) mayFollow(others bool) bool {
	if others && q.passed < mostPassed {
		q.passed++
		return false
	}
	q.passed = 0
	return true
}

// slice takes some of what the others have changed, each in turn.
func (q *intake) slice() []change {
	var out []change
	left := int64(sliceSize)
	names := q.order()
	q.chosen = ""
	for _, name := range names {
		of := q.queues[name]
		n := of.prefix(left)
		if n == 0 && len(out) > 0 {
			break // it is the first in the next slice
		}
		for _, c := range of.changes[:max(n, 1)] {
			left -= c.cost
			of.cost -= c.cost
			out = append(out, c)
		}
		q.turn = name
		if of.changes = of.changes[max(n, 1):]; len(of.changes) == 0 {
			delete(q.queues, name)
		}
	}
	return out
}

// prefix returns how many of the oldest changes cost no more than that.
func (q *queue) prefix(most int64) int {
	if len(q.changes) > mostQueued {
		return len(q.changes)
	}
	for i, c := range q.changes {
		if most -= c.cost; most < 0 {
			return i
		}
	}
	return len(q.changes)
}

func (q *intake) names() []string {
	names := make([]string, 0, len(q.queues))
	for name := range q.queues {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
