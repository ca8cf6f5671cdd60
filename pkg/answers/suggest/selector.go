package suggest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/labelcache"
)

// selection is a selector, with the pods that it matches in a namespace.
type selection struct {
	selector metav1.LabelSelector
	pods     []*labelcache.Endpoint
}

// title names the pods briefly: by the value of the most familiar label, or else the first pod.
func (s *selection) title() string {
	for _, key := range familiarLabels() {
		if v := s.selector.MatchLabels[key]; v != "" {
			return v
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.selector.MatchLabels)) {
		if v := s.selector.MatchLabels[key]; v != "" {
			return v
		}
	}
	return s.pods[0].Key.Name
}

// familiarLabels are the labels by which people select pods, the most usual first.
func familiarLabels() []string {
	return []string{"app.kubernetes.io/name", "app", "k8s-app", "name", "app.kubernetes.io/component", "component", "tier", "role"}
}

// passing reports whether a label changes with each rollout of a workload.
func passing(key string) bool {
	switch key {
	case "pod-template-hash", "controller-revision-hash", "pod-template-generation", "rollouts-pod-template-hash",
		"controller-uid", "batch.kubernetes.io/controller-uid":
		return true
	default:
		return false
	}
}

// selectionsOf returns selectors that together match the wanted pods of a namespace, and as few others as possible.
func selectionsOf(namespace, wanted []*labelcache.Endpoint) []selection {
	if s, exact := selectionOf(namespace, wanted); exact {
		return []selection{s}
	}
	var out []selection
	groups := map[string][]*labelcache.Endpoint{}
	for _, e := range wanted {
		key := labelText(e.Labels)
		groups[key] = append(groups[key], e)
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		s, _ := selectionOf(namespace, groups[key])
		out = append(out, s)
	}
	return out
}

// selectionOf returns the narrowest selector for the wanted pods without the labels that it does not need, and whether it
// matches no other pod.
func selectionOf(namespace, wanted []*labelcache.Endpoint) (selection, bool) {
	common := maps.Clone(wanted[0].Labels)
	for _, e := range wanted[1:] {
		maps.DeleteFunc(common, func(k, v string) bool { other, has := e.Labels[k]; return !has || other != v })
	}
	steady := maps.Clone(common)
	maps.DeleteFunc(steady, func(k, _ string) bool { return passing(k) })
	s := narrowed(namespace, wanted, steady)
	if len(s.pods) > len(wanted) && len(steady) < len(common) {
		if exact := narrowed(namespace, wanted, common); len(exact.pods) == len(wanted) {
			s = exact
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.selector.MatchLabels), dispensable) {
		if len(s.selector.MatchLabels) == 1 {
			break
		}
		fewer := maps.Clone(s.selector.MatchLabels)
		delete(fewer, key)
		without := metav1.LabelSelector{MatchLabels: fewer, MatchExpressions: s.selector.MatchExpressions}
		if len(matching(namespace, &without)) == len(s.pods) {
			s.selector = without
		}
	}
	// Labels that all wanted pods share say more about the pods of tomorrow than what others lack: without any, only a
	// selector of everything is left, which is exact as long as there is nothing else.
	exact := len(s.pods) == len(wanted) && (len(s.selector.MatchLabels) > 0 || len(wanted) == 1 || len(wanted[0].Labels) == 0)
	return s, exact
}

// narrowed returns a selector with labels that all wanted pods have, and requirements that keep out others.
func narrowed(namespace, wanted []*labelcache.Endpoint, labels map[string]string) selection {
	s := selection{selector: metav1.LabelSelector{MatchLabels: maps.Clone(labels)}}
	own := map[string]bool{}
	for _, e := range wanted {
		for k := range e.Labels {
			own[k] = true
		}
	}
	chosen := map[*labelcache.Endpoint]bool{}
	for _, e := range wanted {
		chosen[e] = true
	}
	absent := map[string]bool{}
	for _, e := range matching(namespace, &s.selector) {
		if chosen[e] {
			continue
		}
		foreign := slices.Sorted(maps.Keys(e.Labels))
		foreign = slices.DeleteFunc(foreign, func(k string) bool { return own[k] || passing(k) })
		if len(foreign) > 0 && !slices.ContainsFunc(foreign, func(k string) bool { return absent[k] }) {
			absent[foreign[0]] = true
		}
	}
	for _, k := range slices.Sorted(maps.Keys(absent)) {
		s.selector.MatchExpressions = append(s.selector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: k, Operator: metav1.LabelSelectorOpDoesNotExist})
	}
	s.pods = matching(namespace, &s.selector)
	return s
}

// matching returns the pods that a selector of narrowed matches.
func matching(namespace []*labelcache.Endpoint, s *metav1.LabelSelector) []*labelcache.Endpoint {
	var out []*labelcache.Endpoint
	for _, e := range namespace {
		if matches(e.Labels, s) {
			out = append(out, e)
		}
	}
	return out
}

func matches(labels map[string]string, s *metav1.LabelSelector) bool {
	for k, v := range s.MatchLabels {
		if got, has := labels[k]; !has || got != v {
			return false
		}
	}
	for i := range s.MatchExpressions {
		if _, has := labels[s.MatchExpressions[i].Key]; has {
			return false
		}
	}
	return true
}

// dispensable orders labels: those that change with each rollout first, those that people usually select by last.
func dispensable(a, b string) int {
	rank := func(key string) int {
		if passing(key) {
			return -1
		}
		familiar := familiarLabels()
		if i := slices.Index(familiar, key); i >= 0 {
			return len(familiar) - i
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// labelText is equal only for equal label sets.
func labelText(labels map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString(k + "=" + labels[k] + ",")
	}
	return b.String()
}
