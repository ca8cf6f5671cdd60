package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FirewallZone groups networks of a CNF, for rules, forwardings and translations to refer to. The device takes zone names of
// at most 11 characters; longer names of objects are shortened for it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=firewallzones,singular=firewallzone,scope=Namespaced,shortName=fwz,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type FirewallZone struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is wanted.
	Spec FirewallZoneSpec `json:"spec"`

	// What has become of it. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// FirewallZoneList is a list of FirewallZone.
//
// +kubebuilder:object:root=true
type FirewallZoneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FirewallZone `json:"items"`
}

// FirewallZoneSpec is what a zone is made of.
type FirewallZoneSpec struct {
	// Without effect: an object is known by metadata.name. Upstream overwrote it with that.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Names of networks of the CNF's pods, as their annotation k8s.plugin.opnfv.org/nfn-network has them. The key must be
	// there, as with upstream; an empty list is a zone of subnets, or of nothing.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Network []string `json:"network"`

	// 1 hides the zone's traffic to the outside behind the address of the interface. Empty is 0.
	// +optional
	Masq Flag `json:"masq,omitempty"`

	// Sources that masq is for, ! before one excepts it. Empty is all.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	MasqSrc []NegatableAddress `json:"masq_src,omitempty"`

	// Destinations that masq is for, ! before one excepts it. Empty is all.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	MasqDest []NegatableAddress `json:"masq_dest,omitempty"`

	// 1 lets packets pass masq that connection tracking calls invalid. Empty is 0.
	// +optional
	MasqAllowInvalid Flag `json:"masq_allow_invalid,omitempty"`

	// 1 lowers the segment size of TCP connections to what the outgoing interface takes. Empty is 0.
	// +optional
	MTUFix Flag `json:"mtu_fix,omitempty"`

	// What becomes of packets from the zone to the CNF itself. Empty is left to the device's defaults.
	// +optional
	Input ZonePolicy `json:"input,omitempty"`

	// What becomes of packets between networks of the zone. Empty is left to the device's defaults.
	// +optional
	Forward ZonePolicy `json:"forward,omitempty"`

	// What becomes of packets from the CNF itself to the zone. Empty is left to the device's defaults.
	// +optional
	Output ZonePolicy `json:"output,omitempty"`

	// Address family of the zone. Empty is any.
	// +optional
	Family Family `json:"family,omitempty"`

	// Prefixes that belong to the zone, beside its networks.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Subnet []Address `json:"subnet,omitempty"`

	// More arguments of iptables for packets from the zone, unread. Empty is none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ExtraSrc string `json:"extra_src,omitempty"`

	// More arguments of iptables for packets to the zone, unread. Empty is none. Upstream and the device spell it so; there
	// is no extra_dest.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ExtraDest string `json:"etra_dest,omitempty"`
}
