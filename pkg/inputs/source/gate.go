package source

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/object"
)

// Gated is a source that reports changes which concern nothing but the condition of a readiness gate apart from all others: nothing is
// translated from them, and each pod start has one.
type Gated interface {
	// OnCondition has f called after the condition of a pod has changed, and nothing else of it. It has to be called before Run; f must
	// not wait for anything. Every other change of the pod is reported by Changes alone, even if its condition is another one as well.
	OnCondition(f func(pod object.Ref))
}

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
