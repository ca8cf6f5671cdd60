package source

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Gate returns the status of the condition that belongs to a readiness gate of a pod, "" if the pod lacks the condition; gated is false for
// a pod without the gate, and for an empty one.
func Gate(p *corev1.Pod, gate corev1.PodConditionType) (status corev1.ConditionStatus, gated bool) {
	has := func(g corev1.PodReadinessGate) bool { return g.ConditionType == gate }
	if gate == "" || !slices.ContainsFunc(p.Spec.ReadinessGates, has) {
		return "", false
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == gate {
			return c.Status, true
		}
	}
	return "", true
}

// SetGate gives a pod a readiness gate whose condition has a status; "" leaves out the condition.
func SetGate(p *corev1.Pod, gate corev1.PodConditionType, status corev1.ConditionStatus) {
	p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
	if status != "" {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: gate, Status: status})
	}
}
