package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Notes lists what was left out, one line each.
func (r *Reading) Notes() []string {
	var out []string
	if len(r.Ignored) > 0 {
		out = append(out, "ignored: "+countsText(r.Ignored))
	}
	return append(out, r.Hints...)
}

// countsText formats counts by kind, the largest first.
func countsText(of map[string]int) string {
	kinds := slices.Sorted(maps.Keys(of))
	slices.SortStableFunc(kinds, func(a, b string) int { return of[b] - of[a] })
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = fmt.Sprintf("%d %s", of[k], k)
	}
	return strings.Join(words, ", ")
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// AddForeign adds an object of a kind that may decide on connections, if it does. The namespace is "" for one that has none or whose
// namespace is not known.
func (r *Reading) AddForeign(group, kind, namespace string, content []byte) {
	f, decides := ForeignOf(group, kind, namespace, content)
	if o, ok := networkObject(group, kind, namespace, content); ok {
		r.Networks, f.network = append(r.Networks, o), true
	}
	if !decides {
		return
	}
	r.Foreign = append(r.Foreign, f)
	if at, found := slices.BinarySearch(r.Unjudged, kind); !found {
		r.Unjudged = slices.Insert(r.Unjudged, at, kind)
	}
}

// AddUnlisted adds a kind that could not be listed.
func (r *Reading) AddUnlisted(kind string) {
	at, found := slices.BinarySearch(r.Unlisted, kind)
	if !found {
		r.Unlisted = slices.Insert(r.Unlisted, at, kind)
	}
}

// Judged leaves out of a reading that networks were ignored. The parts of r that it changes are copied before.
func (r *Reading) Judged() {
	r.Ignored = maps.Clone(r.Ignored)
	for i := range r.Networks {
		kind := r.Networks[i].Kind
		if r.Ignored[kind]--; r.Ignored[kind] <= 0 {
			delete(r.Ignored, kind)
		}
	}
	r.Unjudged = slices.DeleteFunc(slices.Clone(r.Unjudged), func(kind string) bool {
		return !slices.ContainsFunc(r.Foreign, func(f Foreign) bool { return f.Kind == kind && !f.network })
	})
}

// shownDoubts is how many names a doubt lists.
const shownDoubts = 3

// firstOf formats the first of some names, and how many more there are.
func firstOf(names []string) string {
	text := strings.Join(names[:min(len(names), shownDoubts)], ", ")
	if more := len(names) - shownDoubts; more > 0 {
		text += fmt.Sprintf(", … (%d more)", more)
	}
	return text
}
