package daemon

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// echo is an object as it came back from the last write, which a watch may not have delivered yet.
type echo[T metav1.Object] struct {
	object T
	older  []string // resource versions that it replaces
	fresh  bool     // it was written where nothing had been delivered
}

// rememberedVersions is how many resource versions of an object are remembered.
const rememberedVersions = 8

// after is the echo of a write that made now of an object with that resource version; "" where there was none.
func (e *echo[T]) after(now T, version string) *echo[T] {
	out := &echo[T]{object: now, fresh: version == ""}
	if e != nil {
		out.older, out.fresh = e.older, e.fresh
	}
	if version != "" {
		out.older = append(out.older, version)
	}
	out.older = out.older[max(0, len(out.older)-rememberedVersions):]
	return out
}

// outdates says whether what a watch delivered is older than the echo.
func (e *echo[T]) outdates(delivered T) bool {
	return e != nil && e.object.GetUID() == delivered.GetUID() && slices.Contains(e.older, delivered.GetResourceVersion())
}
