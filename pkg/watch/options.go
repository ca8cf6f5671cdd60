package watch

import (
	"cmp"
	"slices"

	"k8s.io/client-go/dynamic"
)

// Options narrow what a source delivers. The zero value delivers everything.
type Options struct {
	Kinds      []Kind       // nil is every kind, and Secrets in directories
	NoServices bool         // leaves out services and their endpoints
	Endpoints  EndpointsAPI // zero is EndpointsAuto

	// MaxFile is how long a file of a directory may be, in bytes; 0 is DefaultMaxFile. A longer one is a problem, is not read,
	// and what it gave before stays in force.
	MaxFile int64

	// Server is the address of the Kubernetes API, which problems name; "" leaves it out.
	Server string

	// SDWAN reads the SD-WAN kinds from a Kubernetes API; nil reads none of them there. A directory always has them.
	SDWAN dynamic.Interface
}

// DefaultMaxFile is how long a manifest file may be unless told otherwise, in bytes. To parse one takes about five times as
// much memory.
const DefaultMaxFile = 64 << 20

// maxFile is how long a file may be, in bytes.
func (o *Options) maxFile() int64 { return cmp.Or(o.MaxFile, DefaultMaxFile) }

// EndpointsAPI says which kind of object the endpoints of services are read from. They are delivered as EndpointSlices
// whatever they are read from.
type EndpointsAPI string

// The kinds to read endpoints from. EndpointsAuto is slices where there are any to be had: from a Kubernetes API that
// serves them, else Endpoints; from a directory both, and Endpoints count for services that no slice is about.
const (
	EndpointsAuto    EndpointsAPI = "auto"
	EndpointsSlices  EndpointsAPI = "slices"
	EndpointsClassic EndpointsAPI = "endpoints"
)

// wants says whether objects of a kind are to be read.
func (o *Options) wants(kind Kind) bool {
	given := kind
	if kind == kindSecret {
		return o.Kinds == nil
	}
	if kind == kindEndpoints {
		given = KindEndpointSlice
	}
	if o.Kinds != nil && !slices.Contains(o.Kinds, given) {
		return false
	}
	if o.NoServices && (given == KindService || given == KindEndpointSlice) {
		return false
	}
	if kind == KindEndpointSlice {
		return o.Endpoints != EndpointsClassic
	}
	return kind != kindEndpoints || o.Endpoints != EndpointsSlices
}
