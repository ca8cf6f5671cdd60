package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FirewallForwarding lets packets go from one zone to another.
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

	// What is wanted.
	Spec FirewallForwardingSpec `json:"spec"`

	// What has become of it. Written by the controller only.
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

// FirewallForwardingSpec is from where to where. The device takes a forwarding without one of the zones, and its firewall
// then passes over it.
type FirewallForwardingSpec struct {
	// Without effect: an object is known by metadata.name. Upstream overwrote it with that.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Zone that packets come from.
	// +kubebuilder:validation:MinLength=1
	Src Zone `json:"src"`

	// Zone that packets go to.
	// +kubebuilder:validation:MinLength=1
	Dest Zone `json:"dest"`

	// Address family. Empty is any.
	// +optional
	Family Family `json:"family,omitempty"`
}
