package policy

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/netloom/netloom/pkg/object"
)

// Kinds of queue items that are not objects but affect many.
const (
	lookAround = "look around" // targets or their coverage may have changed
	sizesDue   = "sizes due"   // sizes of sets may be reported again
)

// queue holds the work of the worker: references of objects, and the chores above, which come first. It is client-go's,
// with a different order.
type queue struct {
	workqueue.TypedDelayingInterface[object.Ref]
	order *order
}

func newQueue() *queue {
	o := &order{urgent: map[object.Ref]bool{}, place: map[object.Ref]place{}}
	return &queue{
		TypedDelayingInterface: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[object.Ref]{
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[object.Ref]{Queue: o}),
		}),
		order: o,
	}
}

// addFirst adds an object to be processed before those of Add.
func (q *queue) addFirst(ref object.Ref) {
	q.order.mu.Lock()
	q.order.urgent[ref] = true
	q.order.mu.Unlock()
	q.Add(ref)
}

// do adds a chore, after a time.
func (q *queue) do(chore string, after time.Duration) { q.AddAfter(object.Ref{Kind: chore}, after) }

// order returns urgent items first, and the others in the order in which they were added.
type order struct {
	mu          sync.Mutex
	urgent      map[object.Ref]bool // until they are popped
	place       map[object.Ref]place
	first, rest []object.Ref // rest may contain some that were popped since
}

// place is the queue that an object waits in.
type place uint8

const (
	nowhere place = iota
	amongRest
	amongFirst
)

// Push appends an object.
func (o *order) Push(ref object.Ref) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.append(ref)
}

// Touch moves an object forward if it has become urgent.
func (o *order) Touch(ref object.Ref) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.place[ref] == amongRest {
		o.append(ref)
	}
}

// append appends an object to its queue. The lock is held.
func (o *order) append(ref object.Ref) {
	switch {
	case o.urgent[ref] || ref.Name == "":
		o.place[ref] = amongFirst
		o.first = append(o.first, ref)
	case o.place[ref] == nowhere:
		o.place[ref] = amongRest
		o.rest = append(o.rest, ref)
	}
}

// Len counts the objects.
func (o *order) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.place)
}

// Pop takes the next object. There is one.
func (o *order) Pop() object.Ref {
	o.mu.Lock()
	defer o.mu.Unlock()
	from, at := &o.first, amongFirst
	if len(o.first) == 0 {
		from, at = &o.rest, amongRest
	}
	for {
		ref := (*from)[0]
		*from = (*from)[1:]
		if o.place[ref] == at {
			delete(o.place, ref)
			delete(o.urgent, ref)
			return ref
		}
	}
}
