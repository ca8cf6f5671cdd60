package lint

import (
	"slices"

	"github.com/netloom/netloom/pkg/object"
)

// Within keeps the findings about a namespace and the objects in it, and those about no namespace, such as what cannot be read. Policies is
// how many are in the namespace.
func (r *Report) Within(namespace string, policies int) {
	r.Policies = policies
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		of := f.Ref.Namespace
		if f.Ref.Kind == object.KindNamespace {
			of = f.Ref.Name
		}
		return of != "" && of != namespace
	})
}
