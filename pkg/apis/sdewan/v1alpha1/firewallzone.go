package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FirewallZone groups networks of a CNF, so that rules, forwardings and NAT can refer to them. Zone names on the device have
// at most 11 characters; longer names of objects are shortened.
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

	// The desired state.
	Spec FirewallZoneSpec `json:"spec"`

	// The observed state. Written by the controller only.
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

// FirewallZoneSpec defines a zone.
type FirewallZoneSpec struct {
	// Ignored: an object is identified by metadata.name. Upstream overwrites this field with it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Names of networks of the CNF's pods, as in their annotation k8s.plugin.opnfv.org/nfn-network. Required, as upstream; an
	// empty list means a zone of subnets only, or an empty zone.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Network []string `json:"network"`

	// 1 masquerades the zone's outgoing traffic with the address of the outgoing interface. Empty means 0.
	// +optional
	Masq Flag `json:"masq,omitempty"`

	// Sources that masq applies to; a leading ! excludes one. Empty means all.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	MasqSrc []NegatableAddress `json:"masq_src,omitempty"`

	// Destinations that masq applies to; a leading ! excludes one. Empty means all.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	MasqDest []NegatableAddress `json:"masq_dest,omitempty"`

	// 1 accepts packets that connection tracking considers invalid, even with masq. Empty means 0.
	// +optional
	MasqAllowInvalid Flag `json:"masq_allow_invalid,omitempty"`

	// 1 clamps the segment size of TCP connections to the MTU of the outgoing interface. Empty means 0.
	// +optional
	MTUFix Flag `json:"mtu_fix,omitempty"`

	// What happens to packets from the zone to the CNF itself. Empty means the device's default.
	// +optional
	Input ZonePolicy `json:"input,omitempty"`

	// What happens to packets between networks of the zone. Empty means the device's default.
	// +optional
	Forward ZonePolicy `json:"forward,omitempty"`

	// What happens to packets from the CNF itself to the zone. Empty means the device's default.
	// +optional
	Output ZonePolicy `json:"output,omitempty"`

	// Address family of the zone. Empty means any.
	// +optional
	Family Family `json:"family,omitempty"`

	// Prefixes that belong to the zone, in addition to its networks.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Subnet []Address `json:"subnet,omitempty"`

	// Additional arguments of iptables for packets from the zone, not validated. Empty means none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ExtraSrc string `json:"extra_src,omitempty"`

	// Additional arguments of iptables for packets to the zone, not validated. Empty means none. Upstream and the device use
	// this spelling; there is no extra_dest.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ExtraDest string `json:"etra_dest,omitempty"`
}
