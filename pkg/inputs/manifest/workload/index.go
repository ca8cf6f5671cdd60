package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Index finds pods by selectors. A search looks only at pods that have the rarest label that the selector requires, so that many selectors
// over many pods cost what they find. The zero value is not usable: see NewIndex.
type Index struct {
	inNamespace map[string][]*corev1.Pod
	withLabel   map[labelAt][]*corev1.Pod
}

// labelAt is a label in a namespace.
type labelAt struct{ namespace, key, value string }

// NewIndex makes an index without pods.
func NewIndex() *Index {
	return &Index{map[string][]*corev1.Pod{}, map[labelAt][]*corev1.Pod{}}
}

// Add adds a pod.
func (x *Index) Add(p *corev1.Pod) {
	x.inNamespace[p.Namespace] = append(x.inNamespace[p.Namespace], p)
	for k, v := range p.Labels {
		at := labelAt{p.Namespace, k, v}
		x.withLabel[at] = append(x.withLabel[at], p)
	}
}

// Find lists the pods of a namespace that a selector matches, in the order in which they were added. One that requires nothing matches none: an
// empty selector of a Service or a workload selects no pods.
func (x *Index) Find(namespace string, s labels.Selector) []*corev1.Pod {
	requirements, selectable := s.Requirements()
	if !selectable || len(requirements) == 0 {
		return nil
	}
	candidates := x.inNamespace[namespace]
	for _, r := range requirements {
		if value, ok := s.RequiresExactMatch(r.Key()); ok {
			if fewer := x.withLabel[labelAt{namespace, r.Key(), value}]; len(fewer) < len(candidates) {
				candidates = fewer
			}
		}
	}
	var out []*corev1.Pod
	for _, p := range candidates {
		if s.Matches(labels.Set(p.Labels)) {
			out = append(out, p)
		}
	}
	return out
}
