package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Mwan3Policy defines the outgoing networks of the traffic that an Mwan3Rule assigns to it: mwan3 uses the reachable members
// with the lowest metric, in proportion to their weights.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=mwan3policies,singular=mwan3policy,scope=Namespaced,shortName=mwp,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type Mwan3Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec Mwan3PolicySpec `json:"spec"`

	// The observed state. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// Mwan3PolicyList is a list of Mwan3Policy.
//
// +kubebuilder:object:root=true
type Mwan3PolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Mwan3Policy `json:"items"`
}

// Mwan3PolicySpec defines a policy.
type Mwan3PolicySpec struct {
	// The networks to choose from, each listed once. The device rejects an empty list, and two members with the same interface.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=network
	Members []Mwan3Member `json:"members"`
}

// Mwan3Member is a network of a policy.
type Mwan3Member struct {
	// Name of a network of the CNF's pods, as in their annotation k8s.plugin.opnfv.org/nfn-network.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Network string `json:"network"`

	// Order of the members: the reachable ones with the lowest metric are used. 1 to 256: the device requires more than 0,
	// and mwan3 ignores members above 256.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Metric int `json:"metric"`

	// Share among the members with the same metric. 1 to 1000: the device requires more than 0, and 1000 is mwan3's documented
	// limit.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Weight int `json:"weight"`
}
