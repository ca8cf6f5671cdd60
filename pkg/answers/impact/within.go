package impact

import (
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/object"
)

// Within keeps what changes for the pods of a namespace: connections that one of them opens or accepts, those of them that are in one state
// only, and policies of the namespace or of none. What was compared stays the same.
func (r *Report) Within(namespace string) {
	r.Namespace = namespace
	elsewhere := func(e Effect) bool { return !isIn(&e.From, namespace) && !isIn(&e.To, namespace) }
	r.Changes = slices.DeleteFunc(r.Changes, elsewhere)
	r.Apart = slices.DeleteFunc(r.Apart, elsewhere)
	r.Unselected = slices.DeleteFunc(r.Unselected, elsewhere)
	r.others = len(r.Appeared)
	for _, list := range []*[]string{&r.Appeared, &r.Vanished} {
		*list = slices.DeleteFunc(*list, func(pod string) bool { return !podIn(pod, namespace) })
	}
	for _, list := range []*[]object.Ref{&r.Promoted, &r.Demoted, &r.Staged} {
		*list = slices.DeleteFunc(*list, func(ref object.Ref) bool { return ref.Namespace != "" && ref.Namespace != namespace })
	}
}

// isIn reports whether one of the ends is in a namespace.
func isIn(g *reach.Group, namespace string) bool {
	if parts := strings.Split(g.Selected, "/"); len(parts) > 2 && parts[len(parts)-2] == namespace || len(parts) == 2 {
		return true // a cluster-wide policy may apply to it
	}
	return slices.ContainsFunc(g.Pods, func(pod string) bool { return podIn(pod, namespace) })
}

// podIn reports whether a pod of the own cluster, by its name in a report, is in a namespace.
func podIn(pod, namespace string) bool { return strings.HasPrefix(pod, namespace+"/") }
