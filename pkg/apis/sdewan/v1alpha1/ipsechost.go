package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IpsecHost is an IPsec peer, from the point of view of a host that requests its address in the tunnel from the peer.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ipsechosts,singular=ipsechost,scope=Namespaced,shortName=iph,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type IpsecHost struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec IpsecHostSpec `json:"spec"`

	// The observed state. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// IpsecHostList is a list of IpsecHost.
//
// +kubebuilder:object:root=true
type IpsecHostList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []IpsecHost `json:"items"`
}

// IpsecHostSpec describes the peer and the connections to it.
type IpsecHostSpec struct {
	IpsecPeer `json:",inline"`

	// Tunnel and transport connections to the peer, each with a unique name. The device rejects an empty list.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Connections []IpsecHostConnection `json:"connections"`
}

// IpsecHostConnection is a tunnel or transport connection from a host to its peer.
type IpsecHostConnection struct {
	IpsecConnection `json:",inline"`

	// Local address in the tunnel; %config requests one from the peer. Empty means the CNF's own address.
	// +optional
	LocalSourceIP IpsecText `json:"local_sourceip,omitempty"`
}
