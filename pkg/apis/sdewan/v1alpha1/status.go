package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// State is the state of an object. The words are upstream's; empty means that it has not been processed yet.
//
// +kubebuilder:validation:Enum="In Sync";Idle;"Trying to apply";"Being delete";"Unknown status"
type State string

// The states.
const (
	// InSync means that every pod of the CNF is ready and has the object.
	InSync State = "In Sync"
	// Idle is a state of upstream that is never set.
	Idle State = "Idle"
	// Applying means that at least one pod is not ready or lacks the object.
	Applying State = "Trying to apply"
	// Deleting means that the object is being deleted and at least one pod still has it.
	Deleting State = "Being delete"
	// Unknown means that the state cannot be determined, for example because two CNFs have the same purpose.
	Unknown State = "Unknown status"
)

// Types of conditions.
const (
	// ConditionAccepted is true if the object is valid, and otherwise false, with the reason.
	ConditionAccepted = "Accepted"
	// ConditionReady is true while State is InSync.
	ConditionReady = "Ready"
)

// SdewanStatus is the status of the kinds that are configured on a device. It presents the same information in three ways:
// appliedVersion, appliedTime and inSync are from the design document; state, appliedGeneration and message from later
// releases of upstream; conditions from Kubernetes.
type SdewanStatus struct {
	// State of the object. Empty means that it has not been processed yet.
	// +optional
	State State `json:"state,omitempty"`

	// Whether every pod of the CNF is ready and has the object at appliedVersion.
	// +optional
	InSync bool `json:"inSync"`

	// metadata.resourceVersion of the object on all pods. Empty until all pods have the same.
	// +optional
	AppliedVersion string `json:"appliedVersion,omitempty"`

	// metadata.generation of the object on all pods. 0 until all pods have the same.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`

	// When the last pod was configured. Absent until all pods are.
	// +optional
	AppliedTime *metav1.Time `json:"appliedTime,omitempty"`

	// Why state is not In Sync, in human-readable form. Empty while it is.
	// +optional
	Message string `json:"message,omitempty"`

	// The conditions Accepted and Ready. observedGeneration is the generation that they describe.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The state of each pod of the CNF, in alphabetical order.
	// +optional
	// +listType=map
	// +listMapKey=name
	Pods []PodStatus `json:"pods,omitempty"`
}

// PodStatus is the state of an object on one pod of a CNF.
type PodStatus struct {
	// metadata.name of the pod.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Address at which the pod is configured. Empty means that it has none yet.
	// +optional
	IP string `json:"ip,omitempty"`

	// State of the object on this pod.
	// +optional
	State State `json:"state,omitempty"`

	// Why state is not In Sync, in human-readable form.
	// +optional
	Message string `json:"message,omitempty"`

	// When the object was configured on the pod. Absent means never.
	// +optional
	AppliedTime *metav1.Time `json:"appliedTime,omitempty"`
}
