package labelcache

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// clause is everything that a selector requires of one label key. The canonical form of a selector is its clauses,
// sorted by key, each in canonical form: nothing in it is redundant.
type clause struct {
	key     string
	present bool     // the label has to be there
	absent  bool     // the label must not be there; nothing else is set then
	in      []string // sorted; nil if any value is accepted
	notIn   []string // sorted once reduce was called; values that are not accepted
	above   *int64   // the value has to be a greater integer
	below   *int64   // the value has to be a lesser integer
}

// matches reports whether the labels satisfy c.
func (c *clause) matches(set map[string]string) bool {
	v, ok := set[c.key]
	if !ok {
		return !c.present
	}
	return !c.absent && c.admits(v)
}

// admits reports whether v is accepted as the value of a label that is present.
func (c *clause) admits(v string) bool {
	if c.in != nil && !has(c.in, v) || has(c.notIn, v) {
		return false
	}
	return c.bounds(v)
}

// bounds reports whether v lies between above and below.
func (c *clause) bounds(v string) bool {
	if c.above == nil && c.below == nil {
		return true
	}
	n, err := strconv.ParseInt(v, 10, 64)
	return err == nil && (c.above == nil || n > *c.above) && (c.below == nil || n < *c.below)
}

// has finds v in a sorted list that usually has one value.
func has(sorted []string, v string) bool {
	if len(sorted) <= 4 {
		return slices.Contains(sorted, v)
	}
	_, ok := slices.BinarySearch(sorted, v)
	return ok
}

// allMatch reports whether the labels satisfy every clause.
func allMatch(cs []clause, set map[string]string) bool {
	for i := range cs {
		if !cs[i].matches(set) {
			return false
		}
	}
	return true
}

// clausesOf brings a selector into canonical form. It returns false if no labels can satisfy the selector.
func clausesOf(s labels.Selector) ([]clause, bool) {
	if s == nil {
		return nil, true
	}
	reqs, selectable := s.Requirements()
	if !selectable {
		return nil, false
	}
	byKey := map[string]*clause{}
	for i := range reqs {
		c := byKey[reqs[i].Key()]
		if c == nil {
			c = &clause{key: reqs[i].Key()}
			byKey[c.key] = c
		}
		if !c.narrow(&reqs[i]) {
			return nil, false
		}
	}
	out := make([]clause, 0, len(byKey))
	for _, c := range byKey {
		if !c.reduce() {
			return nil, false
		}
		if !c.trivial() {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(a, b clause) int { return strings.Compare(a.key, b.key) })
	return out, true
}

// narrow adds a requirement to c. It returns false if nothing can satisfy the requirement.
func (c *clause) narrow(r *labels.Requirement) bool {
	switch r.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		vals := sorted(r.ValuesUnsorted())
		if c.in != nil {
			vals = slices.DeleteFunc(vals, func(v string) bool { return !has(c.in, v) })
		}
		c.in, c.present = vals, true
	case selection.NotIn, selection.NotEquals:
		c.notIn = append(c.notIn, r.ValuesUnsorted()...)
	case selection.Exists:
		c.present = true
	case selection.DoesNotExist:
		c.absent = true
	case selection.GreaterThan, selection.LessThan:
		return c.bound(r)
	default:
		return false
	}
	return true
}

// bound adds a comparison to c.
func (c *clause) bound(r *labels.Requirement) bool {
	vals := r.ValuesUnsorted()
	if len(vals) != 1 {
		return false
	}
	n, err := strconv.ParseInt(vals[0], 10, 64)
	if err != nil {
		return false
	}
	c.present = true
	if r.Operator() == selection.GreaterThan {
		if c.above == nil || n > *c.above {
			c.above = &n
		}
	} else if c.below == nil || n < *c.below {
		c.below = &n
	}
	return true
}

// reduce sorts the values that are not accepted, all at once, and removes from c what is redundant. It returns false if
// nothing can satisfy c.
func (c *clause) reduce() bool {
	if c.notIn != nil {
		c.notIn = sorted(c.notIn)
	}
	if c.absent {
		c.notIn = nil
		return !c.present
	}
	if c.in != nil {
		vals := slices.DeleteFunc(c.in, func(v string) bool { return !c.admits(v) })
		c.in, c.notIn, c.above, c.below = vals, nil, nil, nil
		return len(vals) > 0
	}
	if c.above != nil && *c.above == math.MaxInt64 || c.below != nil && *c.below == math.MinInt64 {
		return false
	}
	if c.above != nil && c.below != nil && *c.above+1 >= *c.below {
		return false
	}
	c.notIn = slices.DeleteFunc(c.notIn, func(v string) bool { return !c.bounds(v) })
	return true
}

// trivial reports whether every label set satisfies c.
func (c *clause) trivial() bool { return !c.present && !c.absent && len(c.notIn) == 0 }

// sorted sorts vals in place and drops duplicates. The result is not nil.
func sorted(vals []string) []string {
	if vals == nil {
		return []string{}
	}
	slices.Sort(vals)
	return slices.Compact(vals)
}
