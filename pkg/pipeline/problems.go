package pipeline

import (
	"slices"
	"time"

	"github.com/netloom/netloom/pkg/object"
)

// Problems lists what the source and the translator could not understand, in order. The list must not be changed.
func (p *Pipeline) Problems() []object.Problem {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.problems
}

// setProblems stores the problems while there is no snapshot yet.
func (p *Pipeline) setProblems(problems []object.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = problems
}

// collectProblems gathers the problems of the source, of other clusters and of further lists, and logs the new ones. As long
// as these lists stay the same, so does the result: nothing is merged, and only lists that are copies are compared.
func (p *Pipeline) collectProblems(further ...[]object.Problem) []object.Problem {
	lists := append([][]object.Problem{p.source.Problems()}, further...)
	if p.others != nil {
		lists = append(lists, p.others.Problems())
	}
	p.told.settle(p.log)
	was := p.Problems()
	if slices.EqualFunc(lists, p.collected, equalProblems) {
		return was
	}
	p.collected = lists
	var all []object.Problem
	for _, list := range lists {
		if !slices.IsSortedFunc(list, object.Problem.Compare) {
			list = slices.SortedFunc(slices.Values(list), object.Problem.Compare)
		}
		all = object.MergeProblems(all, list)
	}
	object.DiffProblems(was, all, func(f object.Problem, isNew bool) {
		if isNew {
			p.told.come(p.log, f)
		} else {
			p.told.gone(f)
		}
	})
	return all
}

// nextLog receives when there is something to log about problems that have changed; nil if there is nothing.
func (p *Pipeline) nextLog() <-chan time.Time {
	due, ok := p.told.due()
	if !ok {
		return nil
	}
	return time.After(time.Until(due))
}

func equalProblems(a, b []object.Problem) bool {
	return object.SameProblems(a, b) || slices.Equal(a, b)
}
