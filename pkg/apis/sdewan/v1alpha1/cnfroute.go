package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CNFRoute is a route of a CNF. It takes effect immediately.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cnfroutes,singular=cnfroute,scope=Namespaced,shortName=crt,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type CNFRoute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec CNFRouteSpec `json:"spec"`

	// The observed state. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// CNFRouteList is a list of CNFRoute.
//
// +kubebuilder:object:root=true
type CNFRouteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CNFRoute `json:"items"`
}

// CNFRouteSpec defines a route. A route without dst or dev makes the device stop halfway.
type CNFRouteSpec struct {
	// Destination: an address, a prefix, or default.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="self.matches('^(default|((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(/(3[0-2]|[12]?[0-9]))?)?$')",message="must be an IPv4 address, a prefix, or default"
	Dst string `json:"dst"`

	// Address of the next hop. Empty means that the destination is directly connected.
	// +optional
	Gw Host `json:"gw,omitempty"`

	// Outgoing interface.
	// +kubebuilder:validation:MinLength=1
	Dev Interface `json:"dev"`

	// Routing table: default is the main table, cnf the one that SdewanApplications use. Empty means default.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:Enum="";default;cnf
	Table string `json:"table,omitempty"`
}
