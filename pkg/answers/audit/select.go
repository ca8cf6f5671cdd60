package audit

import (
	"slices"

	"github.com/netloom/netloom/pkg/object"
)

// Select keeps some pods, which keep returns true for, and counts only these. Nothing is left of policies and of the connections between
// namespaces: they are about all pods.
func (r *Report) Select(keep func(pod object.Key) bool) {
	r.Pods = slices.DeleteFunc(r.Pods, func(p Pod) bool { return !keep(object.Key{Namespace: p.Namespace, Name: p.Name}) })
	r.Matrix, r.Policies = nil, nil
	r.Namespaces, r.Summary = r.Namespaces[:0], Summary{}
	for i := range r.Pods { // they are sorted
		p := &r.Pods[i]
		if n := len(r.Namespaces); n == 0 || r.Namespaces[n-1].Name != p.Namespace {
			r.Namespaces = append(r.Namespaces, Namespace{Name: p.Namespace})
		}
		r.Namespaces[len(r.Namespaces)-1].add(p)
		r.Summary.add(p)
	}
	r.Summary.Namespaces = len(r.Namespaces)
}
