package object

import "slices"

// Problems holds the problems of many objects, so that a change costs little however many there are. The zero value is
// empty. It is not safe for concurrent use; the lists it returns are.
type Problems struct {
	of  map[Ref][]Problem
	all []Problem // of all objects but as of the last All, in order
	// What has changed since: the objects, and what all has of them.
	changed map[Ref]bool
	gone    []Problem
}

// Set replaces the problems of an object with list, nil if nothing is wrong with it, and reports whether they were others. The
// list must not be changed afterwards.
func (p *Problems) Set(of Ref, list []Problem) bool {
	was := p.of[of]
	if slices.Equal(was, list) {
		return false
	}
	if p.of == nil {
		p.of, p.changed = map[Ref][]Problem{}, map[Ref]bool{}
	}
	if !p.changed[of] {
		p.changed[of] = true
		p.gone = append(p.gone, was...)
	}
	if len(list) == 0 {
		delete(p.of, of)
	} else {
		p.of[of] = list
	}
	return true
}

// All lists the problems of every object, in order. The list must not be changed. It is the same as before, in the sense of
// SameProblems, if no problem has come or gone.
func (p *Problems) All() []Problem {
	if len(p.changed) == 0 {
		return p.all
	}
	var come []Problem
	for ref := range p.changed {
		come = append(come, p.of[ref]...)
	}
	p.all = patch(p.all, ordered(p.gone), ordered(come))
	p.gone = nil
	clear(p.changed)
	return p.all
}

// Of lists the problems of one object, in order; nil if nothing is wrong with it.
func (p *Problems) Of(ref Ref) []Problem { return ordered(slices.Clone(p.of[ref])) }

func ordered(list []Problem) []Problem {
	slices.SortFunc(list, Problem.Compare)
	return list
}

// patch removes some problems from a sorted list and adds others, which are sorted too; nil if none is left. Apart from copying, its cost
// depends only on the problems that are added and removed.
func patch(list, gone, come []Problem) []Problem {
	left := len(list) - len(gone) + len(come)
	if left == 0 {
		return nil
	}
	out := make([]Problem, 0, left)
	for len(gone)+len(come) > 0 {
		goes := len(come) == 0 || len(gone) > 0 && gone[0].Compare(come[0]) <= 0
		next := &come
		if goes {
			next = &gone
		}
		i, _ := slices.BinarySearchFunc(list, (*next)[0], Problem.Compare)
		out = append(out, list[:i]...)
		list = list[i:]
		if goes {
			list = list[1:]
		} else {
			out = append(out, (*next)[0])
		}
		*next = (*next)[1:]
	}
	return append(out, list...)
}

// MergeProblems returns two lists in order as one. It may be one of them.
func MergeProblems(a, b []Problem) []Problem {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(b) == 0 {
		return a
	}
	return patch(a, nil, b)
}

// SameProblems reports whether two lists are the same memory, so that there is nothing to compare.
func SameProblems(a, b []Problem) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// DiffProblems calls f for each problem that only one of two lists has: the later one if isNew. Both are in order.
func DiffProblems(was, now []Problem, f func(p Problem, isNew bool)) {
	if SameProblems(was, now) {
		return
	}
	was, now = withoutCommonEnds(was, now)
	for len(was)+len(now) > 0 {
		order := 0
		switch {
		case len(now) == 0:
			order = -1
		case len(was) == 0:
			order = 1
		default:
			order = was[0].Compare(now[0])
		}
		if order < 0 {
			f(was[0], false)
		}
		if order > 0 {
			f(now[0], true)
		}
		if order <= 0 {
			was = others(was)
		}
		if order >= 0 {
			now = others(now)
		}
	}
}

// withoutCommonEnds returns two lists without what they begin and end with in common, but for one problem each: further ones
// like it may follow.
func withoutCommonEnds(a, b []Problem) (restOfA, restOfB []Problem) {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	i = max(0, i-1)
	a, b = a[i:], b[i:]
	for len(a) > 1 && len(b) > 1 && a[len(a)-1] == b[len(b)-1] && a[len(a)-2] == b[len(b)-2] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// others is a list in order without its first problem, however often it has that.
func others(list []Problem) []Problem {
	i := 1
	for i < len(list) && list[i] == list[0] {
		i++
	}
	return list[i:]
}

// ChangedProblems returns the objects with a problem that only one of two lists has. Both are in order.
func ChangedProblems(was, now []Problem) map[Ref]bool {
	refs := map[Ref]bool{}
	DiffProblems(was, now, func(p Problem, _ bool) { refs[p.Ref] = true })
	return refs
}
