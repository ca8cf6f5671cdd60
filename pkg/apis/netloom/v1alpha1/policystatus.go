package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Types of the conditions of a PolicyStatus.
const (
	// ConditionTranslated is true if every field of the policy could be interpreted.
	ConditionTranslated = "Translated"
	// ConditionEnforced is true while every target enforces the current policy, false while one does not, and unknown while
	// the state of a target is unknown.
	ConditionEnforced = "Enforced"
)

// PolicyStatus is the status of the NetworkPolicy with the same namespace and name: whether it is enforced now, and at which
// generation. Only netloom writes it, and it is deleted with its policy.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=policystatuses,singular=policystatus,scope=Namespaced,shortName=pols;npstatus,categories=netloom
// +kubebuilder:printcolumn:name=Enforced,type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name=Generation,type=integer,JSONPath=`.status.enforcedGeneration`
// +kubebuilder:printcolumn:name=Targets,type=string,JSONPath=`.status.enforcedTargets`
// +kubebuilder:printcolumn:name=Subjects,type=integer,JSONPath=`.status.subjects`
// +kubebuilder:printcolumn:name=Problems,type=integer,JSONPath=`.status.problemCount`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Enforced")].message`
type PolicyStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The observed state of the policy.
	// +optional
	Status PolicyStatusStatus `json:"status,omitzero"`
}

// PolicyStatusList is a list of PolicyStatus.
//
// +kubebuilder:object:root=true
type PolicyStatusList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PolicyStatus `json:"items"`
}

// PolicyStatusStatus is the observed state of a policy.
type PolicyStatusStatus struct {
	// metadata.generation of the policy as it was last translated.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// metadata.generation of the policy that is in force: the lowest of all targets, as far as known. 0 means that some
	// target has never enforced the policy.
	// +optional
	// +kubebuilder:validation:Minimum=0
	EnforcedGeneration int64 `json:"enforcedGeneration"`

	// How many targets enforce the policy as it was last translated, out of how many, such as 1/1.
	// +optional
	EnforcedTargets string `json:"enforcedTargets,omitempty"`

	// How many pods the policy selects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Subjects int32 `json:"subjects"`

	// The number of problems.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ProblemCount int32 `json:"problemCount"`

	// The first 32 problems: what could not be interpreted. It allows nothing.
	// +optional
	// +listType=atomic
	Problems []PolicyProblem `json:"problems,omitempty"`

	// The first 64 peers of the rules: label selectors or IP blocks.
	// +optional
	// +listType=atomic
	Peers []PolicyPeer `json:"peers,omitempty"`

	// The state of each target. Each netloom writes those that it keeps in sync.
	// +optional
	// +listType=map
	// +listMapKey=name
	Targets []PolicyTarget `json:"targets,omitempty"`

	// The conditions Translated and Enforced. observedGeneration is the generation that they describe.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PolicyProblem is something that could not be interpreted.
type PolicyProblem struct {
	// Path of the field in the policy, such as spec.ingress[0].from[1].ipBlock.cidr. Empty means the whole policy.
	// +optional
	Field string `json:"field,omitempty"`

	// What is wrong, and what was expected.
	Message string `json:"message"`
}

// PolicyPeer is a peer of a rule, as it is resolved now.
type PolicyPeer struct {
	// The rule, such as spec.ingress[0].
	Rule string `json:"rule"`

	// What the peer selects, in human-readable form.
	// +optional
	Selects string `json:"selects,omitempty"`

	// How many pods it selects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pods int32 `json:"pods"`

	// How many addresses those pods have.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Addresses int32 `json:"addresses"`

	// How many IP blocks it consists of.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Blocks int32 `json:"blocks"`
}

// PolicyTarget is the state of a policy on one target.
type PolicyTarget struct {
	// Name of the target, such as ovn, or ovn/node-a if each node has its own.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// metadata.uid of the policy that this entry describes. Entries about a deleted policy of the same name are ignored.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// Whether the target enforces the policy as it was last translated.
	// +optional
	Enforced bool `json:"enforced"`

	// metadata.generation of the policy that the target enforces, as far as known. 0 means none yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Generation int64 `json:"generation"`

	// Since when the target has enforced that generation. Absent means never.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// Revision of the snapshot at that time, as in the log of the netloom that wrote this entry.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`

	// Reason for the value of enforced: Enforced, Staged, Writing, Trouble, Skipped, PodsWithoutPort or Unreachable.
	// +optional
	Reason string `json:"reason,omitempty"`

	// The reason in human-readable form. While the policy is enforced, what there is to remark, usually nothing.
	// +optional
	Message string `json:"message,omitempty"`

	// How many rows of the target the policy needs, including those shared with other policies.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Rows int32 `json:"rows"`

	// How many pods of the target the policy selects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Subjects int32 `json:"subjects"`

	// For how many of those pods the policy is not enforced because they have an address, but no logical port on the target.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MissingSubjects int32 `json:"missingSubjects,omitempty"`
}
