package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CNFNAT translates addresses of packets that a CNF forwards between interfaces, without zones. It takes effect immediately.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cnfnats,singular=cnfnat,scope=Namespaced,shortName=cnat,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type CNFNAT struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec CNFNATSpec `json:"spec"`

	// The observed state. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// CNFNATList is a list of CNFNAT.
//
// +kubebuilder:object:root=true
type CNFNATList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CNFNAT `json:"items"`
}

// CNFNATSpec defines which packets are translated, and how.
//
// The device rejects SNAT without src_dip or dest, MASQUERADE without dest, and DNAT with neither dest_ip nor dest_port, such
// as upstream's own sample. It accepts an object without target, and then runs a command that fails.
//
// +kubebuilder:validation:XValidation:rule="self.target != 'SNAT' || (has(self.src_dip) && size(self.src_dip) > 0)",message="SNAT requires src_dip, the new source address",reason=FieldValueRequired,fieldPath=.src_dip
// +kubebuilder:validation:XValidation:rule="self.target == 'DNAT' || (has(self.dest) && size(self.dest) > 0)",message="SNAT and MASQUERADE require dest, the outgoing interface",reason=FieldValueRequired,fieldPath=.dest
// +kubebuilder:validation:XValidation:rule="self.target != 'DNAT' || (has(self.dest_ip) && size(self.dest_ip) > 0) || (has(self.dest_port) && size(self.dest_port) > 0)",message="DNAT requires dest_ip or dest_port, the new destination",reason=FieldValueRequired,fieldPath=.dest_ip
type CNFNATSpec struct {
	// Ignored: an object is identified by metadata.name. Upstream overwrites this field with it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// DNAT: the incoming interface; empty means any.
	// +optional
	Src NATInterface `json:"src,omitempty"`

	// Source address or prefix. Empty means any.
	// +optional
	SrcIP Address `json:"src_ip,omitempty"`

	// SNAT: the new source address. DNAT: the original destination address; empty means any.
	// +optional
	SrcDIP Address `json:"src_dip,omitempty"`

	// Source port. Empty means any.
	// +optional
	SrcPort Port `json:"src_port,omitempty"`

	// SNAT: the new source port. DNAT: the original destination port. Empty means any.
	// +optional
	SrcDPort Port `json:"src_dport,omitempty"`

	// Protocol. Empty means all.
	// +optional
	Proto Protocol `json:"proto,omitempty"`

	// SNAT and MASQUERADE: the outgoing interface.
	// +optional
	Dest NATInterface `json:"dest,omitempty"`

	// SNAT and MASQUERADE: the destination address; empty means any. DNAT: the new destination address; empty means the CNF.
	// +optional
	DestIP Address `json:"dest_ip,omitempty"`

	// SNAT and MASQUERADE: the destination port; empty means any. DNAT: the new destination port; empty keeps the original.
	// +optional
	DestPort Port `json:"dest_port,omitempty"`

	// DNAT translates the destination address, SNAT and MASQUERADE the source address.
	// +kubebuilder:validation:Enum=DNAT;SNAT;MASQUERADE
	Target string `json:"target"`

	// Position in the chain, from 1; the rule is inserted before the one at that position. Empty or 0 means the end.
	// +optional
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|[1-9][0-9]{0,4})?$')",message="must be a position in the chain, 0 or higher"
	Index string `json:"index,omitempty"`
}
