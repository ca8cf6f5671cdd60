package dirty

import (
	"slices"

	"github.com/netloom/netloom/pkg/object"
)

// Stage is a step in making a snapshot, which has its own part of the queue.
type Stage int

// The stages, in the order in which a snapshot goes through them.
const (
	Policies      Stage = iota // policies and nodes to translate
	Parts                      // policies whose rules to divide into parts
	Resources                  // SD-WAN resources and service rules to translate
	Settlement                 // policies to write or to leave out, depending on whether they have subjects
	LoadBalancers              // Services to translate
	Devices                    // scopes whose CNFs are compared with each other
	Sets                       // sets that may be newly used or no longer used
	stages
)

// Queue holds what is dirty, each once. The zero value is empty. It is not safe for concurrent use.
type Queue struct {
	marked [stages]map[object.Ref]bool
}

// Add marks ref for a stage. Marking it twice has no further effect.
func (q *Queue) Add(s Stage, ref object.Ref) {
	if q.marked[s] == nil {
		q.marked[s] = map[object.Ref]bool{}
	}
	q.marked[s][ref] = true
}

// Take empties the part of a stage and returns what was in it, in the order of compare.
func (q *Queue) Take(s Stage, compare func(a, b object.Ref) int) []object.Ref {
	if len(q.marked[s]) == 0 {
		return nil
	}
	list := make([]object.Ref, 0, len(q.marked[s]))
	for ref := range q.marked[s] {
		list = append(list, ref)
	}
	q.marked[s] = nil // not cleared, which would cost as much as the largest burst
	slices.SortFunc(list, compare)
	return list
}

// Len counts what is marked for the given stages, or for all if none is given.
func (q *Queue) Len(of ...Stage) int {
	n := 0
	for s := range stages {
		if len(of) == 0 || slices.Contains(of, s) {
			n += len(q.marked[s])
		}
	}
	return n
}
