package object

import (
	"cmp"
	"fmt"
	"strings"
)

// Ref names an object of a cluster. The zero value names none.
type Ref struct {
	Kind      string // as in manifests, such as NetworkPolicy
	Namespace string // "" for a cluster-scoped object
	Name      string
}

// String formats r as "Kind namespace/name" or "Kind name".
func (r Ref) String() string { return r.Kind + " " + r.NamespacedName() }

// Path formats r as Kind/namespace/name or Kind/name.
func (r Ref) Path() string { return r.Kind + "/" + r.NamespacedName() }

// NamespacedName formats r without its kind, as namespace/name or name. It is the key of the stores of client-go.
func (r Ref) NamespacedName() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// MarshalText formats r as Path does, which is its form in JSON and YAML.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.Path()), nil }

// UnmarshalText reads what MarshalText writes.
func (r *Ref) UnmarshalText(text []byte) error {
	switch parts := strings.SplitN(string(text), "/", 3); len(parts) {
	case 2:
		*r = Ref{Kind: parts[0], Name: parts[1]}
	case 3:
		*r = Ref{Kind: parts[0], Namespace: parts[1], Name: parts[2]}
	default:
		return fmt.Errorf("%q: expected kind/namespace/name or kind/name", text)
	}
	return nil
}

// Compare orders references by kind, namespace and name.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(
		strings.Compare(r.Kind, o.Kind),
		strings.Compare(r.Namespace, o.Namespace),
		strings.Compare(r.Name, o.Name),
	)
}
