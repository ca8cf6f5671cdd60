package owner

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CompareAge orders by creation time, oldest first. An object without a creation time is the youngest.
func CompareAge(a, b metav1.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	default:
		return a.Compare(b.Time)
	}
}
