package feedback

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Echo is an object as the last write returned it, which a watch may not have delivered yet. Nil means none.
type Echo[T metav1.Object] struct {
	Object T
	older  []string // resource versions that it replaces
	fresh  bool     // it was created when the watch had delivered nothing
}

// rememberedVersions is how many resource versions of an object are remembered.
const rememberedVersions = 8

// After returns the echo of a write that turned an object with that resource version into now; "" if there was none.
func (e *Echo[T]) After(now T, version string) *Echo[T] {
	out := &Echo[T]{Object: now, fresh: version == ""}
	if e != nil {
		out.older, out.fresh = e.older, e.fresh
	}
	if version != "" {
		out.older = append(out.older, version)
	}
	out.older = out.older[max(0, len(out.older)-rememberedVersions):]
	return out
}

// Outdates reports whether an object that a watch delivered is older than the echo.
func (e *Echo[T]) Outdates(delivered T) bool {
	return e != nil && e.Object.GetUID() == delivered.GetUID() && slices.Contains(e.older, delivered.GetResourceVersion())
}

// Fresh reports whether the object was created when the watch had delivered nothing.
func (e *Echo[T]) Fresh() bool { return e != nil && e.fresh }
