package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CNFStatus shows the status that the pods of all CNFs report. Upstream has a single one, cnf-status in namespace sdewan-system.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cnfstatuses,singular=cnfstatus,scope=Namespaced,shortName=cst,categories=sdewan
// +kubebuilder:printcolumn:name=Applied,type=date,JSONPath=`.status.appliedTime`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type CNFStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Empty: there is nothing to configure.
	// +optional
	Spec CNFStatusSpec `json:"spec,omitzero"`

	// The observed state. Written by the controller only.
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

// CNFStatusStatus contains the reports of the pods.
type CNFStatusStatus struct {
	// metadata.generation of the object that was last processed. 0 means none yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`

	// When the reports were last collected. Absent means never.
	// +optional
	AppliedTime *metav1.Time `json:"appliedTime,omitempty"`

	// One entry for each pod, ordered by namespace and name.
	// +optional
	Information []CNFInformation `json:"information,omitempty"`

	// The condition Ready. observedGeneration is the generation that it describes.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CNFInformation is the report of one pod.
type CNFInformation struct {
	// metadata.name of the pod.
	Name string `json:"name"`

	// Namespace of the pod.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Node on which the pod runs.
	// +optional
	Node string `json:"node,omitempty"`

	// Purpose of the CNF: the value of the pod's label sdewanPurpose.
	// +optional
	Purpose string `json:"purpose,omitempty"`

	// Address of the pod.
	// +optional
	IP string `json:"ip,omitempty"`

	// The report: a string of JSON, which lists the modules of the device with their status, or the words Not Available.
	// +optional
	Status string `json:"status,omitempty"`
}
