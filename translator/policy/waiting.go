package policy

import (
	"container/list"

	"github.com/netloom/netloom/pkg/object"
)

// waiting is the policies whose rules wait to be divided again, each once, in the order in which they came.
type waiting struct {
	order *list.List // of object.Ref
	at    map[object.Ref]*list.Element
}

func newWaiting() waiting { return waiting{list.New(), map[object.Ref]*list.Element{}} }

// len counts the policies.
func (w waiting) len() int { return len(w.at) }

// add has a policy wait. One that waits keeps its place.
func (w waiting) add(ref object.Ref) {
	if w.at[ref] == nil {
		w.at[ref] = w.order.PushBack(ref)
	}
}

// remove has a policy wait no longer.
func (w waiting) remove(ref object.Ref) {
	if e := w.at[ref]; e != nil {
		w.order.Remove(e)
		delete(w.at, ref)
	}
}

// take removes and lists the first policies, as long as they cost no more than most together. A single one may exceed it.
func (w waiting) take(most int, costOf func(object.Ref) int) []object.Ref {
	var out []object.Ref
	for e := w.order.Front(); e != nil && most > 0; e = w.order.Front() {
		ref := e.Value.(object.Ref)
		cost := costOf(ref)
		if cost > most && len(out) > 0 {
			break
		}
		most -= cost
		w.remove(ref)
		out = append(out, ref)
	}
	return out
}
