package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IpsecSite is an IPsec peer, from the point of view of a site: the CNF connects its own subnets to the tunnel, and can assign
// virtual addresses to the peer.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ipsecsites,singular=ipsecsite,scope=Namespaced,shortName=ips,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type IpsecSite struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec IpsecSiteSpec `json:"spec"`

	// The observed state. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// IpsecSiteList is a list of IpsecSite.
//
// +kubebuilder:object:root=true
type IpsecSiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []IpsecSite `json:"items"`
}

// IpsecSiteSpec describes the peer and the connections to it.
type IpsecSiteSpec struct {
	IpsecPeer `json:",inline"`

	// Tunnel and transport connections to the peer, each with a unique name. The device rejects an empty list.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Connections []IpsecSiteConnection `json:"connections"`
}

// IpsecSiteConnection is a tunnel or transport connection from a site to its peer.
type IpsecSiteConnection struct {
	IpsecConnection `json:",inline"`

	// Local prefixes, separated by commas. Required; empty means the CNF's own address.
	LocalSubnet IpsecText `json:"local_subnet"`
}
