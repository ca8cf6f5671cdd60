package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FirewallForwarding allows packets to be forwarded from one zone to another.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=firewallforwardings,singular=firewallforwarding,scope=Namespaced,shortName=fwf,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type FirewallForwarding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec FirewallForwardingSpec `json:"spec"`

	// The observed state. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// FirewallForwardingList is a list of FirewallForwarding.
//
// +kubebuilder:object:root=true
type FirewallForwardingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FirewallForwarding `json:"items"`
}

// FirewallForwardingSpec names the two zones. The device accepts a forwarding without one of them, but its firewall ignores
// it.
type FirewallForwardingSpec struct {
	// Ignored: an object is identified by metadata.name. Upstream overwrites this field with it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Source zone.
	// +kubebuilder:validation:MinLength=1
	Src Zone `json:"src"`

	// Destination zone.
	// +kubebuilder:validation:MinLength=1
	Dest Zone `json:"dest"`

	// Address family. Empty means any.
	// +optional
	Family Family `json:"family,omitempty"`
}
