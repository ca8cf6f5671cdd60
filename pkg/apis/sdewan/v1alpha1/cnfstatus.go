package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CNFStatus shows what the pods of all CNFs report of themselves. Upstream keeps one, cnf-status in namespace sdewan-system.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cnfstatuses,singular=cnfstatus,scope=Namespaced,shortName=cst,categories=sdewan
// +kubebuilder:printcolumn:name=Applied,type=date,JSONPath=`.status.appliedTime`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type CNFStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Empty: there is nothing to want.
	// +optional
	Spec CNFStatusSpec `json:"spec,omitzero"`

	// What has become of it. Written by the controller only.
	// +optional
	Status CNFStatusStatus `json:"status,omitzero"`
}

// CNFStatusList is a list of CNFStatus.
//
// +kubebuilder:object:root=true
type CNFStatusList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CNFStatus `json:"items"`
}

// CNFStatusSpec has no fields.
type CNFStatusSpec struct{}

// CNFStatusStatus is what the pods reported.
type CNFStatusStatus struct {
	// metadata.generation of the object that was last seen. 0 means none yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`

	// When the reports were last gathered. Absent means never.
	// +optional
	AppliedTime *metav1.Time `json:"appliedTime,omitempty"`

	// One entry for each pod, in alphabetical order of namespaces and names.
	// +optional
	Information []CNFInformation `json:"information,omitempty"`

	// The same for programs: Ready. observedGeneration is the generation that they are for.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CNFInformation is what one pod reported.
type CNFInformation struct {
	// metadata.name of the pod.
	Name string `json:"name"`

	// Namespace of the pod.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Node that the pod runs on.
	// +optional
	Node string `json:"node,omitempty"`

	// Purpose of the CNF: the value of the pod's label sdewanPurpose.
	// +optional
	Purpose string `json:"purpose,omitempty"`

	// Address of the pod.
	// +optional
	IP string `json:"ip,omitempty"`

	// The report: text that holds JSON, a list of the device's modules with the status of each, or the words Not Available.
	// +optional
	Status string `json:"status,omitempty"`
}
