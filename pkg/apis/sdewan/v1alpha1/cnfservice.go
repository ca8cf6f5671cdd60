package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CNFService exposes a service of the cluster on a port of the CNF: packets to the port are redirected to the service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cnfservices,singular=cnfservice,scope=Namespaced,shortName=csvc,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type CNFService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec CNFServiceSpec `json:"spec"`

	// The observed state. Written by the controller only.
	// +optional
	Status CNFServiceStatus `json:"status,omitzero"`
}

// CNFServiceList is a list of CNFService.
//
// +kubebuilder:object:root=true
type CNFServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CNFService `json:"items"`
}

// CNFServiceSpec describes the service and the ports. Their meaning is that of the design document; upstream's controller
// mixes them up.
//
// +kubebuilder:validation:XValidation:rule="(has(self.port) && size(self.port) > 0) || (has(self.dport) && size(self.dport) > 0)",message="requires port or dport: without a port, every packet addressed to the CNF would go to the service",reason=FieldValueRequired,fieldPath=.port
type CNFServiceSpec struct {
	// DNS name of the service, such as httpd.default.svc.cluster.local.
	// +kubebuilder:validation:MinLength=1
	FullName Domain `json:"fullname"`

	// TCP port of the CNF. Empty means the same as dport; one of the two is required.
	// +optional
	Port Port `json:"port,omitempty"`

	// TCP port of the service. Empty means the same as port.
	// +optional
	DPort Port `json:"dport,omitempty"`

	// Ignored, here and upstream.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CIDR string `json:"cidr,omitempty"`
}

// CNFServiceStatus shows the values that the NAT rule was made from.
type CNFServiceStatus struct {
	// Address of the service. Empty while it is unknown.
	// +optional
	SIP string `json:"sip,omitempty"`

	// TCP port of the CNF.
	// +optional
	Port string `json:"port,omitempty"`

	// TCP port of the service.
	// +optional
	DPort string `json:"dport,omitempty"`

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
