package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/object/spelling"
)

// shownNames is how many names an error proposes.
const shownNames = 3

// closest lists the names that are most similar to name, the likeliest first.
func closest(name string, names []string) []string {
	type guess struct {
		name     string
		distance int
	}
	_, bare, _ := strings.Cut(name, "/")
	most := max(2, len(name)/3)
	var guesses []guess
	for _, n := range names {
		d := spelling.Distance(name, n, most)
		if _, other, ok := strings.Cut(n, "/"); ok && (other == name || other == bare) {
			d = 1 // the right name in another namespace
		}
		if d >= 0 {
			guesses = append(guesses, guess{n, d})
		}
	}
	slices.SortFunc(guesses, func(a, b guess) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, g := range guesses[:min(len(guesses), shownNames)] {
		out = append(out, g.name)
	}
	return out
}

// hint proposes names, or describes how to list them.
func hint(name string, names []string) string { return proposal(closest(name, names), names) }

// proposal is a hint with the names that are likely meant, of all.
func proposal(near, names []string) string {
	if len(near) > 0 {
		return "; did you mean " + joinOr(near) + "?"
	}
	switch {
	case len(names) == 0:
		return "; there is none"
	case len(names) <= shownNames:
		return "; there is " + joinOr(names)
	default:
		return ""
	}
}

func joinOr(words []string) string  { return joinWith(words, "or") }
func joinAnd(words []string) string { return joinWith(words, "and") }

// joinWith formats a list as "a, b and c".
func joinWith(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}
