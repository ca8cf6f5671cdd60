package name

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/object/spelling"
)

// Shown is how many names an error proposes.
const Shown = 3

// Closest lists the names that are most similar to name, the likeliest first.
func Closest(name string, names []string) []string {
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
	for _, g := range guesses[:min(len(guesses), Shown)] {
		out = append(out, g.name)
	}
	return out
}

// Hint proposes the names that are most like one that was not found. It begins with a semicolon, or is "".
func Hint(name string, names []string) string { return Proposal(Closest(name, names), names) }

// Proposal is a hint with the names that are likely meant, of all.
func Proposal(near, names []string) string {
	if len(near) > 0 {
		return "; did you mean " + Or(near) + "?"
	}
	switch {
	case len(names) == 0:
		return "; there is none"
	case len(names) <= Shown:
		return "; there is " + Or(names)
	default:
		return ""
	}
}

// Or formats a list as "a, b or c".
func Or(words []string) string { return joinWith(words, "or") }

// And formats a list as "a, b and c".
func And(words []string) string { return joinWith(words, "and") }

func joinWith(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// DidYouMean is a hint with the most similar names; "" if there are none.
func DidYouMean(name string, names []string) string {
	if near := Closest(name, names); len(near) > 0 {
		return "; did you mean " + Or(near) + "?"
	}
	return ""
}

// ErrNotFound is wrapped by errors about a name that does not exist.
var ErrNotFound = errors.New("not found")

// NotFound is the error about an object that does not exist, of all that do.
func NotFound(kind Kind, name string, names []string) error {
	return fmt.Errorf("%s %s: %w%s", kind, name, ErrNotFound, Hint(name, names))
}
