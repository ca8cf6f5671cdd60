package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CNFLocalService redirects the packets for a remote service that pass through the CNF to a local service.
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

	// The desired state.
	Spec CNFLocalServiceSpec `json:"spec"`

	// The observed state. Written by the controller only.
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

// CNFLocalServiceSpec describes the two services.
type CNFLocalServiceSpec struct {
	// DNS name of the local service.
	// +kubebuilder:validation:MinLength=1
	LocalService Domain `json:"localservice"`

	// TCP port of the local service. Empty means the original destination port.
	// +optional
	LocalPort Port `json:"localport,omitempty"`

	// DNS name of the remote service. Packets to any of its addresses are redirected.
	// +kubebuilder:validation:MinLength=1
	RemoteService Domain `json:"remoteservice"`

	// TCP port of the remote service. Empty means all ports.
	// +optional
	RemotePort Port `json:"remoteport,omitempty"`
}

// CNFLocalServiceStatus shows the values that the NAT rules were made from.
type CNFLocalServiceStatus struct {
	// Address of the local service. Empty while it is unknown.
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

	// State of the object. Empty means that it has not been processed yet. Upstream has this field in only one of its manifests.
	// +optional
	State State `json:"state,omitempty"`

	// What is wrong, in human-readable form. Empty if nothing is wrong.
	// +optional
	Message string `json:"message,omitempty"`

	// The conditions Accepted and Ready. observedGeneration is the generation that they describe.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
