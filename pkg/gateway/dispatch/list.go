package dispatch

import "strings"

// list is a compiled list of elements: "*", names, and exclusions, which begin with "-".
type list struct {
	all      bool                // it contains "*"
	included map[string]struct{} // the names; without any, everything that is not excluded matches
	excluded map[string]struct{} // without effect if there are names
}

func newList(elements []string) list {
	l := list{included: map[string]struct{}{}, excluded: map[string]struct{}{}}
	for _, e := range elements {
		name, exclusion := strings.CutPrefix(e, "-")
		switch {
		case e == "*":
			l.all = true
		case exclusion:
			l.excluded[name] = struct{}{}
		default:
			l.included[e] = struct{}{}
		}
	}
	return l
}

// empty reports whether there are no elements at all.
func (l *list) empty() bool { return !l.all && len(l.included) == 0 && len(l.excluded) == 0 }

// matches reports whether the list matches a thing that has the given names: one for a verb, several for a user with several
// groups. One of them must be included, or none excluded. An empty list matches nothing.
func (l *list) matches(names ...string) bool {
	switch {
	case l.all:
		return true
	case len(l.included) > 0:
		return containsAny(l.included, names)
	case len(l.excluded) > 0:
		_, everything := l.excluded["*"]
		return !everything && !containsAny(l.excluded, names)
	default:
		return false
	}
}

func containsAny(set map[string]struct{}, names []string) bool {
	for _, n := range names {
		if _, ok := set[n]; ok {
			return true
		}
	}
	return false
}

// prefixes are the elements of a list that end in "*", without it.
type prefixes []string

func (p prefixes) match(name string) bool {
	for _, prefix := range p {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// cutPrefixes separates the elements that end in "*" from the others. "*" itself and "-*" stay with the others.
func cutPrefixes(elements []string) (rest []string, included, excluded prefixes) {
	for _, e := range elements {
		prefix, glob := strings.CutSuffix(e, "*")
		switch {
		case !glob || prefix == "" || prefix == "-":
			rest = append(rest, e)
		case prefix[0] == '-':
			excluded = append(excluded, prefix[1:])
		default:
			included = append(included, prefix)
		}
	}
	return rest, included, excluded
}
