package report

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/target/state"
)

// Reasons why a policy that is missing from its source is or is not in force.
const (
	ReasonKept    = "Kept"    // a target keeps what it has for it
	ReasonMissing = "Missing" // no target keeps anything for it any more
)

// Missing returns the status of a policy that is missing from its source, given its present status. kept is the reason why
// targets keep the policy in force, or "" if none does. The status of a policy that was never kept does not change: it is
// deleted with the policy.
func (w *World) Missing(had *v1alpha1.PolicyStatusStatus, kept string) v1alpha1.PolicyStatusStatus {
	out := *had.DeepCopy()
	enforced := state.Condition(had.Conditions, v1alpha1.ConditionEnforced)
	if kept == "" && (enforced == nil || enforced.Reason != ReasonKept) {
		return out
	}
	now := metav1.Condition{
		Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionUnknown, Reason: ReasonKept, Message: cut(kept),
	}
	if kept == "" {
		now.Status, now.Reason, now.Message = metav1.ConditionFalse, ReasonMissing, "the source does not have the policy, and no target keeps it"
	}
	out.Conditions = slices.DeleteFunc(out.Conditions, func(c metav1.Condition) bool { return c.Type == now.Type })
	out.Conditions = append(out.Conditions, state.Dated([]metav1.Condition{now}, had.Conditions, had.ObservedGeneration, w.Now)...)
	return out
}
