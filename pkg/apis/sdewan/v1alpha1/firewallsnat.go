package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FirewallSNAT changes the source address of packets between zones.
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

	// The desired state.
	Spec FirewallSNATSpec `json:"spec"`

	// The observed state. Written by the controller only.
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

// FirewallSNATSpec defines which packets are translated, and how. The device rejects one without src_dip or dest.
//
// +kubebuilder:validation:XValidation:rule="has(self.src_dip) && size(self.src_dip) > 0",message="SNAT requires src_dip, the new source address",reason=FieldValueRequired,fieldPath=.src_dip
// +kubebuilder:validation:XValidation:rule="has(self.dest) && size(self.dest) > 0",message="SNAT requires dest, the destination zone",reason=FieldValueRequired,fieldPath=.dest
type FirewallSNATSpec struct {
	Redirection `json:",inline"`

	// Always SNAT. Upstream overwrites other values; netloom rejects them.
	// +optional
	// +kubebuilder:default=SNAT
	// +kubebuilder:validation:Enum="";SNAT
	Target string `json:"target,omitempty"`
}

// Redirection is what FirewallSNAT and FirewallDNAT have in common.
type Redirection struct {
	// Ignored: an object is identified by metadata.name. Upstream overwrites this field with it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Source zone.
	// +optional
	Src Zone `json:"src,omitempty"`

	// Source address or prefix. Empty means any.
	// +optional
	SrcIP Address `json:"src_ip,omitempty"`

	// SNAT: the new source address. DNAT: the original destination address; empty means any.
	// +optional
	SrcDIP Address `json:"src_dip,omitempty"`

	// MAC address of the sender. Empty means any.
	// +optional
	SrcMAC MAC `json:"src_mac,omitempty"`

	// Source port. Empty means any.
	// +optional
	SrcPort Port `json:"src_port,omitempty"`

	// SNAT: the new source port. DNAT: the original destination port. Empty means any.
	// +optional
	SrcDPort Port `json:"src_dport,omitempty"`

	// Protocol; tcpudp means both TCP and UDP. Empty means tcpudp.
	// +optional
	Proto Protocol `json:"proto,omitempty"`

	// Destination zone.
	// +optional
	Dest Zone `json:"dest,omitempty"`

	// SNAT: the destination address; empty means any. DNAT: the new destination address; empty means the CNF.
	// +optional
	DestIP Address `json:"dest_ip,omitempty"`

	// SNAT: the destination port; empty means any. DNAT: the new destination port; empty keeps the original.
	// +optional
	DestPort Port `json:"dest_port,omitempty"`

	// Mark of the packets. Empty means any.
	// +optional
	Mark Mark `json:"mark,omitempty"`

	// Address family. Empty means any.
	// +optional
	Family Family `json:"family,omitempty"`
}
