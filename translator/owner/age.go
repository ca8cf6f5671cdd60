package owner

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CompareAge puts what was created first first. What has no time of creation is younger than anything.
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
