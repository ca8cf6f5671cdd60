package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CNFNAT translates addresses of packets that cross a CNF, between interfaces and without zones. It acts at once.
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

	// What is wanted.
	Spec CNFNATSpec `json:"spec"`

	// What has become of it. Written by the controller only.
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

// CNFNATSpec is what is translated, and to what.
//
// The device refuses SNAT without src_dip or dest, MASQUERADE without dest, and DNAT without dest_ip and dest_port; upstream's
// own sample is such a DNAT. One without target it takes, and runs a command that fails.
//
// +kubebuilder:validation:XValidation:rule="self.target != 'SNAT' || (has(self.src_dip) && size(self.src_dip) > 0)",message="SNAT requires src_dip, the new source address",reason=FieldValueRequired,fieldPath=.src_dip
// +kubebuilder:validation:XValidation:rule="self.target == 'DNAT' || (has(self.dest) && size(self.dest) > 0)",message="SNAT and MASQUERADE require dest, the outgoing interface",reason=FieldValueRequired,fieldPath=.dest
// +kubebuilder:validation:XValidation:rule="self.target != 'DNAT' || (has(self.dest_ip) && size(self.dest_ip) > 0) || (has(self.dest_port) && size(self.dest_port) > 0)",message="DNAT requires dest_ip or dest_port, the new destination",reason=FieldValueRequired,fieldPath=.dest_ip
type CNFNATSpec struct {
	// Without effect: an object is known by metadata.name. Upstream overwrote it with that.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// DNAT: the interface that packets come in by; empty is any.
	// +optional
	Src NATInterface `json:"src,omitempty"`

	// Source address or prefix. Empty is any.
	// +optional
	SrcIP Address `json:"src_ip,omitempty"`

	// SNAT: the source address that packets get. DNAT: the destination address that they had; empty is any.
	// +optional
	SrcDIP Address `json:"src_dip,omitempty"`

	// Source port. Empty is any.
	// +optional
	SrcPort Port `json:"src_port,omitempty"`

	// SNAT: the source port that packets get. DNAT: the destination port that they had. Empty is any.
	// +optional
	SrcDPort Port `json:"src_dport,omitempty"`

	// Protocol. Empty is all.
	// +optional
	Proto Protocol `json:"proto,omitempty"`

	// SNAT and MASQUERADE: the interface that packets leave by.
	// +optional
	Dest NATInterface `json:"dest,omitempty"`

	// SNAT and MASQUERADE: the destination that packets have; empty is any. DNAT: the address that they get; empty is the CNF.
	// +optional
	DestIP Address `json:"dest_ip,omitempty"`

	// SNAT and MASQUERADE: the destination port that packets have; empty is any. DNAT: the one that they get; empty leaves it.
	// +optional
	DestPort Port `json:"dest_port,omitempty"`

	// Which address is translated, and to which.
	// +kubebuilder:validation:Enum=DNAT;SNAT;MASQUERADE
	Target string `json:"target"`

	// Place in the chain from 1, before the rule that was there. Empty or 0 is the end.
	// +optional
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|[1-9][0-9]{0,4})?$')",message="must be a position in the chain, 0 or higher"
	Index string `json:"index,omitempty"`
}
