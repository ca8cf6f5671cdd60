package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CNFLocalService keeps a service at home: what goes to a remote service through the CNF is sent to a local one instead.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cnflocalservices,singular=cnflocalservice,scope=Namespaced,shortName=clsvc,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type CNFLocalService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is wanted.
	Spec CNFLocalServiceSpec `json:"spec"`

	// What has become of it. Written by the controller only.
	// +optional
	Status CNFLocalServiceStatus `json:"status,omitzero"`
}

// CNFLocalServiceList is a list of CNFLocalService.
//
// +kubebuilder:object:root=true
type CNFLocalServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CNFLocalService `json:"items"`
}

// CNFLocalServiceSpec is the two services.
type CNFLocalServiceSpec struct {
	// DNS name of the local service.
	// +kubebuilder:validation:MinLength=1
	LocalService Domain `json:"localservice"`

	// TCP port of the local service. Empty is the one that packets went to.
	// +optional
	LocalPort Port `json:"localport,omitempty"`

	// DNS name of the remote service. Each of its addresses is translated.
	// +kubebuilder:validation:MinLength=1
	RemoteService Domain `json:"remoteservice"`

	// TCP port of the remote service. Empty is every port.
	// +optional
	RemotePort Port `json:"remoteport,omitempty"`
}

// CNFLocalServiceStatus is what the translations were made of.
type CNFLocalServiceStatus struct {
	// Address of the local service. Empty while it is not known.
	// +optional
	LocalIP string `json:"localip,omitempty"`

	// TCP port of the local service.
	// +optional
	LocalPort string `json:"localport,omitempty"`

	// Addresses of the remote service.
	// +optional
	RemoteIPs []string `json:"remoteips,omitempty"`

	// TCP port of the remote service.
	// +optional
	RemotePort string `json:"remoteport,omitempty"`

	// State of the object. Empty means that it has not been processed yet. Upstream has it in one of its manifests only.
	// +optional
	State State `json:"state,omitempty"`

	// What is wrong, for people. Empty if nothing is.
	// +optional
	Message string `json:"message,omitempty"`

	// The same for programs: Accepted, and Ready. observedGeneration is the generation that they describe.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
