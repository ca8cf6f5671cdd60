package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IpsecSite is a peer of IPsec seen from a network that stays: the CNF brings subnets of its own into the tunnel, and may give
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

	// What is wanted.
	Spec IpsecSiteSpec `json:"spec"`

	// What has become of it. Written by the controller only.
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

// IpsecSiteSpec is the peer, and the connections to it.
type IpsecSiteSpec struct {
	IpsecPeer `json:",inline"`

	// Tunnels and transports to the peer, each with a name of its own. The device refuses an empty list.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Connections []IpsecSiteConnection `json:"connections"`
}

// IpsecSiteConnection is a tunnel or transport to a peer of a site.
type IpsecSiteConnection struct {
	IpsecConnection `json:",inline"`

	// Prefixes on this side, with commas between them. The key must be there; empty is the CNF's own address.
	LocalSubnet IpsecText `json:"local_subnet"`
}
