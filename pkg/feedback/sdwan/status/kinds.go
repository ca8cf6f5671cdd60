package status

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

// Object is an SD-WAN object.
type Object = v1alpha1.Object

// finalizerDomain ends the names of all finalizers.
const finalizerDomain = "finalizers.sdewan.akraino.org"

// Finalizer is the name that keeps objects of a kind until no device has them, the one that ICN SD-EWAN uses; "" for a kind
// that no device has.
func Finalizer(kind string) string {
	if r, _ := v1alpha1.ResourceOfKind(kind); r.Finalizer != "" {
		return r.Finalizer + "." + finalizerDomain
	}
	return ""
}

// KindOf returns the kind of an SD-WAN object, "" for any other. Objects decoded by clients do not carry it themselves.
func KindOf(o runtime.Object) string {
	r, _, _ := v1alpha1.ResourceOf(o)
	return r.Kind
}
