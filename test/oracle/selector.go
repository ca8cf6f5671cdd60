package oracle

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// selects reports whether s matches labels. All its requirements must be met, so an empty selector matches everything;
// nil matches nothing.
func selects(s *metav1.LabelSelector, labels map[string]string) bool {
	if s == nil {
		return false
	}
	for k, want := range s.MatchLabels {
		if got, ok := labels[k]; !ok || got != want {
			return false
		}
	}
	for i := range s.MatchExpressions {
		if !meets(&s.MatchExpressions[i], labels) {
			return false
		}
	}
	return true
}

// meets reports whether labels meet one requirement. NotIn and DoesNotExist are met by objects without the key.
func meets(r *metav1.LabelSelectorRequirement, labels map[string]string) bool {
	got, ok := labels[r.Key]
	switch r.Operator {
	case metav1.LabelSelectorOpIn:
		return ok && slices.Contains(r.Values, got)
	case metav1.LabelSelectorOpNotIn:
		return len(r.Values) > 0 && (!ok || !slices.Contains(r.Values, got))
	case metav1.LabelSelectorOpExists:
		return len(r.Values) == 0 && ok
	case metav1.LabelSelectorOpDoesNotExist:
		return len(r.Values) == 0 && !ok
	default:
		return false
	}
}
