package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FirewallSNAT gives packets between zones another source address.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=firewallsnats,singular=firewallsnat,scope=Namespaced,shortName=fwsnat,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type FirewallSNAT struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is wanted.
	Spec FirewallSNATSpec `json:"spec"`

	// What has become of it. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// FirewallSNATList is a list of FirewallSNAT.
//
// +kubebuilder:object:root=true
type FirewallSNATList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FirewallSNAT `json:"items"`
}

// FirewallSNATSpec is what is translated, and to what. The device refuses one without src_dip, or without dest.
//
// +kubebuilder:validation:XValidation:rule="has(self.src_dip) && size(self.src_dip) > 0",message="SNAT requires src_dip, the new source address",reason=FieldValueRequired,fieldPath=.src_dip
// +kubebuilder:validation:XValidation:rule="has(self.dest) && size(self.dest) > 0",message="SNAT requires dest, the destination zone",reason=FieldValueRequired,fieldPath=.dest
type FirewallSNATSpec struct {
	Redirection `json:",inline"`

	// SNAT whatever it says; upstream overwrites it. Another word is refused.
	// +optional
	// +kubebuilder:default=SNAT
	// +kubebuilder:validation:Enum="";SNAT
	Target string `json:"target,omitempty"`
}

// Redirection is what FirewallSNAT and FirewallDNAT have in common.
type Redirection struct {
	// Without effect: an object is known by metadata.name. Upstream overwrote it with that.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Zone that packets come from.
	// +optional
	Src Zone `json:"src,omitempty"`

	// Source address or prefix. Empty is any.
	// +optional
	SrcIP Address `json:"src_ip,omitempty"`

	// SNAT: the source address that packets get. DNAT: the destination address that they had; empty is any.
	// +optional
	SrcDIP Address `json:"src_dip,omitempty"`

	// Hardware address of the sender. Empty is any.
	// +optional
	SrcMAC MAC `json:"src_mac,omitempty"`

	// Source port. Empty is any.
	// +optional
	SrcPort Port `json:"src_port,omitempty"`

	// SNAT: the source port that packets get. DNAT: the destination port that they had. Empty is any.
	// +optional
	SrcDPort Port `json:"src_dport,omitempty"`

	// Protocol; tcpudp is both. Empty is tcpudp.
	// +optional
	Proto Protocol `json:"proto,omitempty"`

	// Zone that packets go to.
	// +optional
	Dest Zone `json:"dest,omitempty"`

	// SNAT: the destination that packets have; empty is any. DNAT: the destination address that they get; empty is the CNF.
	// +optional
	DestIP Address `json:"dest_ip,omitempty"`

	// SNAT: the destination port that packets have; empty is any. DNAT: the one that they get; empty leaves it.
	// +optional
	DestPort Port `json:"dest_port,omitempty"`

	// Mark that packets carry. Empty is any.
	// +optional
	Mark Mark `json:"mark,omitempty"`

	// Address family. Empty is any.
	// +optional
	Family Family `json:"family,omitempty"`
}
