package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Mwan3Rule assigns traffic to an Mwan3Policy. The first rule that matches applies.
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

	// The desired state.
	Spec Mwan3RuleSpec `json:"spec"`

	// The observed state. Written by the controller only.
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

// Mwan3RuleSpec defines which traffic a rule matches, and its policy. As upstream, all fields are required; "" means unset.
type Mwan3RuleSpec struct {
	// The Mwan3Policy for matching traffic. The device also accepts a rule without a policy, which then has no effect.
	// +kubebuilder:validation:MinLength=1
	Policy Reference `json:"policy"`

	// Source address or prefix. Empty means any.
	SrcIP Address `json:"src_ip"`

	// Source port, for tcp and udp. Empty means any.
	SrcPort Port `json:"src_port"`

	// Destination address or prefix. Empty means any.
	DestIP Address `json:"dest_ip"`

	// Destination port, for tcp and udp. Empty means any.
	DestPort Port `json:"dest_port"`

	// Protocol. Empty means all.
	// +kubebuilder:validation:Enum="";tcp;udp;icmp;all
	Proto string `json:"proto"`

	// Address family. Empty means all.
	// +kubebuilder:validation:Enum="";ipv4;ipv6;all
	Family string `json:"family"`

	// 1 keeps connections from the same source on the same network for timeout seconds. Empty means 0.
	Sticky Flag `json:"sticky"`

	// How long sticky lasts, in seconds. Empty means mwan3's default of 600.
	Timeout Positive `json:"timeout"`
}
