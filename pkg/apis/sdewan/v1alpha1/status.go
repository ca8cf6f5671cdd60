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
	// Idle is a word of upstream's that nothing says.
	Idle State = "Idle"
	// Applying means that at least one pod is not ready or lacks the object.
	Applying State = "Trying to apply"
	// Deleting means that the object is being deleted and at least one pod still has it.
	Deleting State = "Being delete"
	// Unknown means that the state cannot be determined, for example because two CNFs have the purpose.
	Unknown State = "Unknown status"
)

// Types of conditions.
const (
	// ConditionAccepted is true for an object that could be understood, false with the reason for one that could not.
	ConditionAccepted = "Accepted"
	// ConditionReady is true while State is InSync.
	ConditionReady = "Ready"
)

// SdewanStatus is the status of the kinds that a device keeps. It says the same in three vocabularies: appliedVersion,
// appliedTime and inSync are those of the design document; state, appliedGeneration and message those of upstream's later
// releases; conditions those of Kubernetes.
type SdewanStatus struct {
	// State of the object. Empty means that it has not been processed yet.
	// +optional
	State State `json:"state,omitempty"`

	// Whether every pod of the CNF is ready and has the object as of appliedVersion.
	// +optional
	InSync bool `json:"inSync"`

	// metadata.resourceVersion of the object that all pods have. Empty while not all pods have it.
	// +optional
	AppliedVersion string `json:"appliedVersion,omitempty"`

	// metadata.generation of the object that all pods have. 0 while not all pods have it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`

	// When the last pod got it. Absent while not all pods have it.
	// +optional
	AppliedTime *metav1.Time `json:"appliedTime,omitempty"`

	// Why state is not In Sync, for people. Empty while it is.
	// +optional
	Message string `json:"message,omitempty"`

	// The same for programs: Accepted, and Ready. observedGeneration is the generation that they describe.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// How each pod of the CNF stands, in alphabetical order.
	// +optional
	// +listType=map
	// +listMapKey=name
	Pods []PodStatus `json:"pods,omitempty"`
}

// PodStatus says how one pod of a CNF stands with an object.
type PodStatus struct {
	// metadata.name of the pod.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Address under which the pod is configured. Empty means that it has none yet.
	// +optional
	IP string `json:"ip,omitempty"`

	// How far the object has come on this pod.
	// +optional
	State State `json:"state,omitempty"`

	// Why state is not In Sync, for people.
	// +optional
	Message string `json:"message,omitempty"`

	// When the pod got the object. Absent means never.
	// +optional
	AppliedTime *metav1.Time `json:"appliedTime,omitempty"`
}
