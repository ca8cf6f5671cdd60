package source

import (
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/object"
)

// ParseRef reads kind/namespace/name or, for a cluster-scoped kind, kind/name. The case of the kind does not matter.
func ParseRef(s string) (object.Ref, error) {
	kind, name, _ := strings.Cut(s, "/")
	kinds := make([]string, 0, len(Resources()))
	for _, r := range Resources() {
		kinds = append(kinds, strings.ToLower(r.Kind))
		if !strings.EqualFold(kind, r.Kind) {
			continue
		}
		ref := object.Ref{Kind: r.Kind, Name: name}
		form := "name"
		if r.Namespaced {
			form = "namespace/name"
			ref.Namespace, ref.Name, _ = strings.Cut(name, "/")
		}
		if ref.Name == "" || r.Namespaced && ref.Namespace == "" || strings.Contains(ref.Name, "/") {
			return object.Ref{}, fmt.Errorf("%q: expected %s/%s", s, strings.ToLower(kind), form)
		}
		return ref, nil
	}
	return object.Ref{}, fmt.Errorf("%q: expected one of %s, a slash and a name", s, strings.Join(kinds, ", "))
}
