package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object/spelling"
)

// The limits of suggestions, which are made at most once for each selector that matches nothing.
const (
	maxTags    = 20_000 // labels that are compared
	maxHolders = 1_000  // objects with a label that are looked at
	maxWords   = 8      // labels of a selector that are compared
)

// speller suggests labels in place of those that no pod has.
type speller struct {
	view       labelcache.View
	vocabulary *vocabulary // of the view
	left       int         // suggestions that may still be made
}

// suggest returns "; did you mean app=web?" for a selector of a kind of labels, "" without a likely correction. Pod labels are
// those of pods in a namespace, or in any if it is "".
func (s *speller) suggest(kind labelcache.TagKind, namespace string, selector *metav1.LabelSelector) string {
	if selector == nil || s.left <= 0 {
		return ""
	}
	wanted := wordsOf(kind, selector)
	for _, w := range wanted[:min(len(wanted), maxWords)] {
		if s.exists(w, namespace) {
			continue
		}
		s.left--
		if tag, ok := s.closest(w, namespace); ok {
			return fmt.Sprintf("; did you mean %s=%s?", tag.Key, tag.Value)
		}
	}
	return ""
}

// wordsOf lists the labels that a selector demands, in order: those of which it accepts only one value.
func wordsOf(kind labelcache.TagKind, selector *metav1.LabelSelector) []labelcache.Tag {
	var out []labelcache.Tag
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		out = append(out, labelcache.Tag{Kind: kind, Key: key, Value: selector.MatchLabels[key]})
	}
	for _, e := range selector.MatchExpressions {
		if e.Operator == metav1.LabelSelectorOpIn && len(e.Values) == 1 {
			out = append(out, labelcache.Tag{Kind: kind, Key: e.Key, Value: e.Values[0]})
		}
	}
	return out
}

// exists reports whether an object in the namespace has a label.
func (s *speller) exists(t labelcache.Tag, namespace string) bool {
	n := 0
	for key := range s.view.Tagged(t) {
		if namespace == "" || t.Kind == labelcache.NamespaceLabel || key.Namespace == namespace {
			return true
		}
		if n++; n == maxHolders {
			break
		}
	}
	return false
}

// closest finds the most similar label that exists: another value of the key, or the value under a similar key.
func (s *speller) closest(t labelcache.Tag, namespace string) (labelcache.Tag, bool) {
	if s.vocabulary.of == nil {
		s.vocabulary.fill(s.view)
	}
	type candidate struct {
		tag      labelcache.Tag
		distance int
	}
	var near []candidate
	consider := func(tag labelcache.Tag, distance int) {
		if distance <= tolerance(tag, t) {
			near = append(near, candidate{tag, distance})
		}
	}
	v := s.vocabulary
	spelling.Near(v.of[word{t.Kind, false, t.Key}], t.Value, maxDistance, func(value string, d int) {
		consider(labelcache.Tag{Kind: t.Kind, Key: t.Key, Value: value}, d)
	})
	spelling.Near(v.of[word{t.Kind, true, t.Value}], t.Key, maxDistance, func(key string, d int) {
		consider(labelcache.Tag{Kind: t.Kind, Key: key, Value: t.Value}, d)
	})
	slices.SortFunc(near, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.distance, b.distance), a.tag.Compare(b.tag)) })
	for i := range near {
		if s.exists(near[i].tag, namespace) {
			return near[i].tag, true
		}
	}
	return labelcache.Tag{}, false
}

// vocabulary is the labels that exist. The zero value is not filled yet.
type vocabulary struct {
	of map[word][]string // the values of a key, and the keys with a value, sorted
}

// word is what labels have in common: their key or, of values, their value.
type word struct {
	kind  labelcache.TagKind
	value bool
	text  string
}

// fill collects the labels. It collects none if there are too many: which ones would be looked at is not defined.
func (v *vocabulary) fill(view labelcache.View) {
	v.of = map[word][]string{}
	n := 0
	for tag := range view.Tags() {
		if n++; n > maxTags {
			v.of = map[word][]string{}
			return
		}
		key, value := word{tag.Kind, false, tag.Key}, word{tag.Kind, true, tag.Value}
		v.of[key], v.of[value] = append(v.of[key], tag.Value), append(v.of[value], tag.Key)
	}
	for _, words := range v.of {
		slices.Sort(words)
	}
}

// tolerance is how many typing errors the differing part of a label may have.
func tolerance(a, b labelcache.Tag) int {
	short := min(len(a.Value), len(b.Value))
	if a.Key != b.Key {
		short = min(len(a.Key), len(b.Key))
	}
	if short <= 4 {
		return 1
	}
	return maxDistance
}

// maxDistance is how many typing errors a word may have at most.
const maxDistance = 2

// nearest returns "; did you mean "x"?" for the most similar of some words, "" if none is.
func nearest(word string, words []string) string {
	best, least := "", maxDistance+1
	for _, w := range words {
		limit := maxDistance
		if min(len(w), len(word)) <= 4 {
			limit = 1
		}
		if d := spelling.Distance(w, word, limit); d >= 0 && cmp.Or(cmp.Compare(d, least), cmp.Compare(w, best)) < 0 {
			best, least = w, d
		}
	}
	if least > maxDistance {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
