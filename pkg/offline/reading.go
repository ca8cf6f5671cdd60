package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// reading reports what was read.
func (m *manifests) reading(opts *Manifests) *world.Reading {
	r := &world.Reading{Objects: map[string]int{}, Ignored: map[string]int{}, Live: opts.Live, Empty: m.empty}
	skipped, unknown := map[string]int{}, map[string]int{}
	var others []string
	for _, source := range m.sources {
		others = append(others, source.Others()...)
		r.Files += source.Files()
		for kind, n := range source.Ignored() {
			r.Ignored[kind] += n
		}
		for pattern, n := range source.Skipped() {
			skipped[pattern] += n
		}
		for field, n := range source.Unknown() {
			unknown[field] += n
		}
	}
	for _, pattern := range opts.Ignore {
		switch n := skipped[pattern]; {
		case n > 0:
			r.Hints = append(r.Hints, fmt.Sprintf("not read because of --ignore %s: %d", pattern, n))
		case strings.ContainsAny(pattern, "*?[/."): // the name of a kind has none of these
			r.Hints = append(r.Hints, fmt.Sprintf("--ignore %s matches no file or directory; a pattern is a name, or a path below -f", pattern))
		}
	}
	if n := r.Ignored["Kustomization"]; n > 0 {
		delete(r.Ignored, "Kustomization")
		r.Hints = append(r.Hints, fmt.Sprintf("not built: %d Kustomization; to build one, use -k DIR in place of -f DIR", n))
	}
	if len(others) > 0 {
		slices.Sort(others)
		r.Hints = append(r.Hints, "no objects, and left out: "+object.Few(others, maxFields))
	}
	if len(unknown) > 0 {
		r.Hints = append(r.Hints, "fields that netloom does not know, and no connection depends on: "+fieldsText(unknown))
	}
	for ref := range m.force {
		if m.place(ref) != (object.Place{}) {
			r.Objects[ref.Kind]++
		}
	}
	m.addForeign(r, opts)
	return r
}

// maxFields is how many unknown fields are named.
const maxFields = 5

// fieldsText lists fields with the number of objects that have them.
func fieldsText(of map[string]int) string {
	names := slices.Sorted(maps.Keys(of))
	slices.SortStableFunc(names, func(a, b string) int { return of[b] - of[a] })
	words := make([]string, 0, maxFields+1)
	for i, name := range names {
		if i == maxFields {
			words = append(words, fmt.Sprintf("and %d more", len(names)-maxFields))
			break
		}
		words = append(words, fmt.Sprintf("%s (%d)", name, of[name]))
	}
	return strings.Join(words, ", ")
}

// addForeign adds the objects that decide on connections and that netloom does not evaluate.
func (m *manifests) addForeign(r *world.Reading, opts *Manifests) {
	for _, source := range m.sources {
		for _, o := range source.Foreign() {
			if !world.MayDecide(o.Group, o.Kind) {
				continue
			}
			var h metav1.PartialObjectMetadata
			err := json.Unmarshal(o.Content, &h)
			namespace := cmp.Or(h.Namespace, opts.Namespace, metav1.NamespaceDefault)
			if err != nil {
				namespace = "" // it may concern any
			}
			if !slices.Contains(opts.Ignore, o.Kind) {
				r.AddForeign(o.Group, o.Kind, namespace, o.Content)
			}
		}
	}
	for _, content := range m.content {
		kinds, looked := manifest.UnlistedOf(content)
		if opts.Live && !looked {
			kinds = []source.Unlisted{{}}
		}
		for _, u := range kinds {
			if !slices.Contains(opts.Ignore, u.Kind) {
				r.AddUnlisted(u.String())
			}
		}
	}
}

// unavailable lists the kinds that the files declare as unreadable.
func (m *manifests) unavailable() []string {
	var kinds []string
	for _, content := range m.content {
		kinds = append(kinds, manifest.UnavailableOf(content)...)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
