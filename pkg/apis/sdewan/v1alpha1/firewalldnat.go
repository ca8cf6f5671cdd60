package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FirewallDNAT changes the destination address of packets from a zone.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=firewalldnats,singular=firewalldnat,scope=Namespaced,shortName=fwdnat,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type FirewallDNAT struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec FirewallDNATSpec `json:"spec"`

	// The observed state. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// FirewallDNATList is a list of FirewallDNAT.
//
// +kubebuilder:object:root=true
type FirewallDNATList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FirewallDNAT `json:"items"`
}

// FirewallDNATSpec defines which packets are translated, and how. The device rejects one without src.
//
// +kubebuilder:validation:XValidation:rule="has(self.src) && size(self.src) > 0",message="DNAT requires src, the source zone",reason=FieldValueRequired,fieldPath=.src
type FirewallDNATSpec struct {
	Redirection `json:",inline"`

	// Always DNAT. Upstream overwrites other values; netloom rejects them.
	// +optional
	// +kubebuilder:default=DNAT
	// +kubebuilder:validation:Enum="";DNAT
	Target string `json:"target,omitempty"`
}
