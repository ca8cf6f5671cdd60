package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SdewanApplication routes packets from selected pods by the CNF's routing table cnf.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=sdewanapplications,singular=sdewanapplication,scope=Namespaced,shortName=sdapp,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type SdewanApplication struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec SdewanApplicationSpec `json:"spec"`

	// The observed state. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// SdewanApplicationList is a list of SdewanApplication.
//
// +kubebuilder:object:root=true
type SdewanApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []SdewanApplication `json:"items"`
}

// SdewanApplicationSpec selects the pods. Upstream ignores matchExpressions; netloom does not.
type SdewanApplicationSpec struct {
	// Labels of the pods. An empty selector selects every pod in the namespace.
	// +structType=atomic
	PodSelector PodSelector `json:"podSelector"`

	// Namespace of the pods. Empty means the namespace of this object.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	AppNamespace string `json:"appNamespace,omitempty"`

	// Ignored, here and upstream.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ServicePort string `json:"servicePort,omitempty"`

	// Ignored, here and upstream.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CNFPort string `json:"cnfPort,omitempty"`
}
