package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Mwan3Rule says which traffic follows which Mwan3Policy. The first rule that matches decides.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=mwan3rules,singular=mwan3rule,scope=Namespaced,shortName=mwr,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type Mwan3Rule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is wanted.
	Spec Mwan3RuleSpec `json:"spec"`

	// What has become of it. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// Mwan3RuleList is a list of Mwan3Rule.
//
// +kubebuilder:object:root=true
type Mwan3RuleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Mwan3Rule `json:"items"`
}

// Mwan3RuleSpec is what a rule matches, and what happens then. As with upstream all keys must be there; "" is unset.
type Mwan3RuleSpec struct {
	// The Mwan3Policy to follow. The device takes none as well, and keeps a rule that does nothing.
	// +kubebuilder:validation:MinLength=1
	Policy Reference `json:"policy"`

	// Source address or prefix. Empty is any.
	SrcIP Address `json:"src_ip"`

	// Source port, for tcp and udp. Empty is any.
	SrcPort Port `json:"src_port"`

	// Destination address or prefix. Empty is any.
	DestIP Address `json:"dest_ip"`

	// Destination port, for tcp and udp. Empty is any.
	DestPort Port `json:"dest_port"`

	// Protocol. Empty is all.
	// +kubebuilder:validation:Enum="";tcp;udp;icmp;all
	Proto string `json:"proto"`

	// Address family. Empty is all.
	// +kubebuilder:validation:Enum="";ipv4;ipv6;all
	Family string `json:"family"`

	// 1 keeps connections of one source on one network for timeout seconds. Empty is 0.
	Sticky Flag `json:"sticky"`

	// How long sticky lasts, in seconds. Empty means mwan3's default of 600.
	Timeout Positive `json:"timeout"`
}
