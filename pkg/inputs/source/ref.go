package source

import (
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/object"
)

// shortNames are kubectl's short names of kinds.
func shortNames() map[string]string {
	return map[string]string{
		"netpol": object.KindNetworkPolicy, "np": object.KindNetworkPolicy, "po": object.KindPod, "svc": object.KindService,
		"svcim": object.KindServiceImport,
		"ns":    object.KindNamespace, "no": object.KindNode, "ep": object.KindEndpoints, "cnp": object.KindClusterNetworkPolicy,
		"anp": object.KindAdminNetworkPolicy, "banp": object.KindBaselineAdminNetworkPolicy,
	}
}

// ParseRef reads kind/namespace/name or, for a cluster-scoped kind, kind/name. The case of the kind does not matter, and it may be
// one of kubectl's short names.
func ParseRef(s string) (object.Ref, error) {
	kind, name, _ := strings.Cut(s, "/")
	if long, ok := shortNames()[strings.ToLower(kind)]; ok {
		kind = long
	}
	kinds := make([]string, 0, len(Resources()))
	for _, r := range append(Resources(), QuestionResources()...) {
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
