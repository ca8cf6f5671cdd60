package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FirewallDNAT gives packets that come from a zone another destination address.
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

	// What is wanted.
	Spec FirewallDNATSpec `json:"spec"`

	// What has become of it. Written by the controller only.
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

// FirewallDNATSpec is what is translated, and to what. The device refuses one without src.
//
// +kubebuilder:validation:XValidation:rule="has(self.src) && size(self.src) > 0",message="DNAT requires src, the source zone",reason=FieldValueRequired,fieldPath=.src
type FirewallDNATSpec struct {
	Redirection `json:",inline"`

	// DNAT whatever it says; upstream overwrites it. Another word is refused.
	// +optional
	// +kubebuilder:default=DNAT
	// +kubebuilder:validation:Enum="";DNAT
	Target string `json:"target,omitempty"`
}
