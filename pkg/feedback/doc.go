// Package feedback has what the controllers below it share for writing to a Kubernetes API: a recorder of Events, the
// requests that the API forbids, and own writes that a watch has not delivered yet.
package feedback

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// FieldManager is the name of netloom in the managed fields of objects, and the component of its Events.
const FieldManager = "netloom"

// Result is what the metrics call the result of a write.
func Result(err error) string {
	switch {
	case err == nil:
		return "ok"
	case apierrors.IsConflict(err):
		return "conflict"
	case apierrors.IsForbidden(err):
		return "forbidden"
	default:
		return "failed"
	}
}
