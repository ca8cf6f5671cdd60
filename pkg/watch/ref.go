package watch

import (
	"cmp"
	"fmt"
	"strings"
)

// Kind names a kind of object the way its manifests do.
type Kind string

// The kinds that sources deliver.
const (
	KindNetworkPolicy Kind = "NetworkPolicy"
	KindPod           Kind = "Pod"
	KindNamespace     Kind = "Namespace"
	KindNode          Kind = "Node"
	KindService       Kind = "Service"
	KindEndpointSlice Kind = "EndpointSlice"
)

// Ref names one object. It is comparable; the zero value names none.
type Ref struct {
	Kind      Kind
	Namespace string // "" for a cluster-scoped object
	Name      string
}

// String spells r as "Kind namespace/name" or "Kind name".
func (r Ref) String() string {
	return string(r.Kind) + " " + r.key()
}

// ParseRef reads kind/namespace/name or, for a cluster-scoped kind, kind/name. The case of the kind does not matter.
func ParseRef(s string) (Ref, error) {
	kind, name, _ := strings.Cut(s, "/")
	for _, r := range resources() {
		if !strings.EqualFold(kind, string(r.kind)) {
			continue
		}
		ref := Ref{Kind: r.kind, Name: name}
		form := "name"
		if r.namespaced {
			form = "namespace/name"
			ref.Namespace, ref.Name, _ = strings.Cut(name, "/")
		}
		if ref.Name == "" || r.namespaced && ref.Namespace == "" || strings.Contains(ref.Name, "/") {
			return Ref{}, fmt.Errorf("%q: expected %s/%s", s, strings.ToLower(kind), form)
		}
		return ref, nil
	}
	var kinds []string
	for _, r := range resources() {
		kinds = append(kinds, strings.ToLower(string(r.kind)))
	}
	return Ref{}, fmt.Errorf("%q: expected one of %s, a slash and a name", s, strings.Join(kinds, ", "))
}

// Compare orders references by kind, namespace and name.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(
		strings.Compare(string(r.Kind), string(o.Kind)),
		strings.Compare(r.Namespace, o.Namespace),
		strings.Compare(r.Name, o.Name),
	)
}

// key is the name under which an informer's store keeps the object.
func (r Ref) key() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}
