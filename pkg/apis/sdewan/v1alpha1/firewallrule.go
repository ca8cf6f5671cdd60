package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FirewallRule decides what happens to packets between zones of a CNF. With src and dest, it applies to packets that the CNF
// forwards; with src alone, to packets addressed to the CNF itself; with dest alone, to packets that the CNF sends.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=firewallrules,singular=firewallrule,scope=Namespaced,shortName=fwr,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type FirewallRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec FirewallRuleSpec `json:"spec"`

	// The observed state. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// FirewallRuleList is a list of FirewallRule.
//
// +kubebuilder:object:root=true
type FirewallRuleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FirewallRule `json:"items"`
}

// FirewallRuleSpec defines which packets a rule matches, and what happens to them. Between zones, the device has
// address-mask-request with a trailing space and therefore never accepts it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.icmp_type) || self.icmp_type.all(t, t != 'address-mask-request')",message="the device does not support address-mask-request between zones",fieldPath=.icmp_type
type FirewallRuleSpec struct {
	// Ignored: an object is identified by metadata.name. Upstream overwrites this field with it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Source zone. Empty means the CNF itself.
	// +optional
	Src Zone `json:"src,omitempty"`

	// Destination zone. Empty means the CNF itself.
	// +optional
	Dest Zone `json:"dest,omitempty"`

	PacketRule `json:",inline"`
}

// PacketRule is what FirewallRule and NetworkFirewallRule have in common. The device rejects MARK without a mark.
//
// +kubebuilder:validation:XValidation:rule="!has(self.target) || self.target != 'MARK' || (has(self.set_mark) && size(self.set_mark) > 0) || (has(self.set_xmark) && size(self.set_xmark) > 0)",message="target MARK requires set_mark or set_xmark",reason=FieldValueRequired,fieldPath=.set_mark
type PacketRule struct {
	// Source address or prefix. Empty means any.
	// +optional
	SrcIP Address `json:"src_ip,omitempty"`

	// MAC address of the sender. Empty means any.
	// +optional
	SrcMAC MAC `json:"src_mac,omitempty"`

	// Source port. Empty means any.
	// +optional
	SrcPort Port `json:"src_port,omitempty"`

	// Protocol; tcpudp means both TCP and UDP. Empty means tcpudp between zones, all between interfaces.
	// +optional
	Proto Protocol `json:"proto,omitempty"`

	// Types of ICMP messages, for proto icmp. Between zones, empty means any.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	ICMPType []ICMPType `json:"icmp_type,omitempty"`

	// Destination address or prefix. Empty means any.
	// +optional
	DestIP Address `json:"dest_ip,omitempty"`

	// Destination port. Empty means any.
	// +optional
	DestPort Port `json:"dest_port,omitempty"`

	// Mark of the packets. Empty means any.
	// +optional
	Mark Mark `json:"mark,omitempty"`

	// What happens to matching packets. MARK requires set_mark or set_xmark.
	// +optional
	Target Target `json:"target,omitempty"`

	// Mark to set for target MARK. With a mask, only the bits of the mask are set to the value.
	// +optional
	SetMark Mark `json:"set_mark,omitempty"`

	// Like set_mark, but the value is combined with the mark of the packet by exclusive or.
	// +optional
	SetXMark Mark `json:"set_xmark,omitempty"`

	// Address family. Empty means any.
	// +optional
	Family Family `json:"family,omitempty"`

	// Additional arguments of iptables, not validated. Empty means none. Not for NetworkFirewallRule, where the device ignores
	// them.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Extra string `json:"extra,omitempty"`
}
