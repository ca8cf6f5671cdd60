package state

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Note is something to report to people about an object.
type Note struct {
	Warning bool
	Reason  string // one word, for programs
	Message string
}

// Dated completes conditions for an object of a generation: the time is that of the same condition in had if it has the same status,
// now otherwise.
func Dated(conditions, had []metav1.Condition, generation int64, now metav1.Time) []metav1.Condition {
	for i := range conditions {
		c := &conditions[i]
		c.ObservedGeneration, c.LastTransitionTime = generation, now
		if old := Condition(had, c.Type); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	return conditions
}

// Condition returns the condition of a type, or nil.
func Condition(in []metav1.Condition, typ string) *metav1.Condition {
	i := slices.IndexFunc(in, func(c metav1.Condition) bool { return c.Type == typ })
	if i < 0 {
		return nil
	}
	return &in[i]
}
