package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IpsecHost is a peer of IPsec seen from a host that asks the peer for its address in the tunnel.
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

	// What is wanted.
	Spec IpsecHostSpec `json:"spec"`

	// What has become of it. Written by the controller only.
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

// IpsecHostSpec is the peer, and the connections to it.
type IpsecHostSpec struct {
	IpsecPeer `json:",inline"`

	// Tunnels and transports to the peer, each with a name of its own. The device refuses an empty list.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Connections []IpsecHostConnection `json:"connections"`
}

// IpsecHostConnection is a tunnel or transport to a peer of a host.
type IpsecHostConnection struct {
	IpsecConnection `json:",inline"`

	// Address of this side in the tunnel; %config asks the peer for one. Empty is the CNF's own address.
	// +optional
	LocalSourceIP IpsecText `json:"local_sourceip,omitempty"`
}
