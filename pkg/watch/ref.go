package watch

import (
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/object"
)

// Kind names a kind of object the way its manifests do.
type Kind = string

// The kinds that sources deliver.
const (
	KindNetworkPolicy Kind = "NetworkPolicy"
	KindPod           Kind = "Pod"
	KindNamespace     Kind = "Namespace"
	KindNode          Kind = "Node"
	KindService       Kind = "Service"
	KindEndpointSlice Kind = "EndpointSlice"
)

// ParseRef reads kind/namespace/name or, for a cluster-scoped kind, kind/name. The case of the kind does not matter.
func ParseRef(s string) (object.Ref, error) {
	kind, name, _ := strings.Cut(s, "/")
	for _, r := range resources() {
		if !strings.EqualFold(kind, r.kind) {
			continue
		}
		ref := object.Ref{Kind: r.kind, Name: name}
		form := "name"
		if r.namespaced {
			form = "namespace/name"
			ref.Namespace, ref.Name, _ = strings.Cut(name, "/")
		}
		if ref.Name == "" || r.namespaced && ref.Namespace == "" || strings.Contains(ref.Name, "/") {
			return object.Ref{}, fmt.Errorf("%q: expected %s/%s", s, strings.ToLower(kind), form)
		}
		return ref, nil
	}
	var kinds []string
	for _, r := range resources() {
		kinds = append(kinds, strings.ToLower(r.kind))
	}
	return object.Ref{}, fmt.Errorf("%q: expected one of %s, a slash and a name", s, strings.Join(kinds, ", "))
}
