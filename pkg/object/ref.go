package object

import (
	"cmp"
	"strings"
)

// Ref names an object of a cluster. The zero value names none.
type Ref struct {
	Kind      string // as manifests spell it, such as NetworkPolicy
	Namespace string // "" for a cluster-scoped object
	Name      string
}

// String spells r as "Kind namespace/name" or "Kind name".
func (r Ref) String() string { return r.Kind + " " + r.NamespacedName() }

// Path spells r as Kind/namespace/name or Kind/name.
func (r Ref) Path() string { return r.Kind + "/" + r.NamespacedName() }

// NamespacedName spells r without its kind, as namespace/name or name. It is the key of the stores of client-go.
func (r Ref) NamespacedName() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// Compare orders references by kind, namespace and name.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(
		strings.Compare(r.Kind, o.Kind),
		strings.Compare(r.Namespace, o.Namespace),
		strings.Compare(r.Name, o.Name),
	)
}
