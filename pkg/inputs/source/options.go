package source

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/object"
)

// Options restricts what a source delivers. The zero value delivers everything.
type Options struct {
	Kinds      []string     // nil means every kind of Resources, and Secrets in directories
	Questions  bool         // adds those of QuestionResources from an API
	NoServices bool         // leaves out services and their endpoints
	Endpoints  EndpointsAPI // zero is EndpointsAuto
	// Gate is the readiness gate whose condition is kept of the pods that have it; "" keeps none. Directories have no conditions.
	Gate corev1.PodConditionType
}

// EndpointsAPI is the kind of object that the endpoints of services are read from. They are delivered as EndpointSlices in
// any case.
type EndpointsAPI string

// The kinds to read endpoints from. EndpointsAuto is slices if they exist: from a Kubernetes API that serves them, else
// Endpoints; from a directory both, and Endpoints count for services without a slice.
const (
	EndpointsAuto    EndpointsAPI = "auto"
	EndpointsSlices  EndpointsAPI = "slices"
	EndpointsClassic EndpointsAPI = "endpoints"
)

// Wants reports whether objects of a kind are to be read.
func (o *Options) Wants(kind string) bool {
	given := kind
	if kind == object.KindEndpoints {
		given = object.KindEndpointSlice
	}
	if o.Kinds != nil && !slices.Contains(o.Kinds, given) {
		return false
	}
	if o.NoServices && slices.Contains([]string{object.KindService, object.KindServiceImport, object.KindEndpointSlice}, given) {
		return false
	}
	if kind == object.KindEndpointSlice {
		return o.Endpoints != EndpointsClassic
	}
	return kind != object.KindEndpoints || o.Endpoints != EndpointsSlices
}
