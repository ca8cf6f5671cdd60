package status

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

// Object is an SD-WAN object.
type Object = v1alpha1.Object

// finalizerDomain ends the names of all finalizers.
const finalizerDomain = "finalizers.sdewan.akraino.org"

// Finalizer is the name that keeps objects of a kind until no device holds them, the one that ICN SD-EWAN uses; "" for a
// kind that no device holds.
func Finalizer(kind string) string {
	if r, _ := v1alpha1.ResourceOfKind(kind); r.Finalizer != "" {
		return r.Finalizer + "." + finalizerDomain
	}
	return ""
}

// KindOf is the kind of an object; "" when it is none of SD-WAN's. Objects as clients decode them do not say it themselves.
func KindOf(o runtime.Object) string {
	r, _, _ := v1alpha1.ResourceOf(o)
	return r.Kind
}
