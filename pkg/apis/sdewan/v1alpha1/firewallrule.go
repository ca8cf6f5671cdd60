package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FirewallRule says what becomes of packets between zones of a CNF: with src and dest of those that cross it, with src alone
// of those for the CNF itself, with dest alone of those it sends.
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

	// What is wanted.
	Spec FirewallRuleSpec `json:"spec"`

	// What has become of it. Written by the controller only.
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

// FirewallRuleSpec is what a rule matches, and what happens then.
type FirewallRuleSpec struct {
	// Without effect: an object is known by metadata.name. Upstream overwrote it with that.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Zone that packets come from. Empty is the CNF itself.
	// +optional
	Src Zone `json:"src,omitempty"`

	// Zone that packets go to. Empty is the CNF itself.
	// +optional
	Dest Zone `json:"dest,omitempty"`

	PacketRule `json:",inline"`
}

// PacketRule is what FirewallRule and NetworkFirewallRule have in common. The device refuses MARK without a mark.
//
// +kubebuilder:validation:XValidation:rule="!has(self.target) || self.target != 'MARK' || (has(self.set_mark) && size(self.set_mark) > 0) || (has(self.set_xmark) && size(self.set_xmark) > 0)",message="target MARK requires set_mark or set_xmark",reason=FieldValueRequired,fieldPath=.set_mark
type PacketRule struct {
	// Source address or prefix. Empty is any.
	// +optional
	SrcIP Address `json:"src_ip,omitempty"`

	// Hardware address of the sender. Empty is any.
	// +optional
	SrcMAC MAC `json:"src_mac,omitempty"`

	// Source port. Empty is any.
	// +optional
	SrcPort Port `json:"src_port,omitempty"`

	// Protocol; tcpudp is both. Empty is tcpudp between zones, all between interfaces.
	// +optional
	Proto Protocol `json:"proto,omitempty"`

	// Types of ICMP messages, for proto icmp. Empty is any between zones.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	ICMPType []ICMPType `json:"icmp_type,omitempty"`

	// Destination address or prefix. Empty is any.
	// +optional
	DestIP Address `json:"dest_ip,omitempty"`

	// Destination port. Empty is any.
	// +optional
	DestPort Port `json:"dest_port,omitempty"`

	// Mark that packets carry. Empty is any.
	// +optional
	Mark Mark `json:"mark,omitempty"`

	// What becomes of packets that match. MARK requires set_mark or set_xmark.
	// +optional
	Target Target `json:"target,omitempty"`

	// Mark to set for target MARK: of the bits under the mask the value, all others kept.
	// +optional
	SetMark Mark `json:"set_mark,omitempty"`

	// The same with exclusive or.
	// +optional
	SetXMark Mark `json:"set_xmark,omitempty"`

	// Address family. Empty is any.
	// +optional
	Family Family `json:"family,omitempty"`

	// More arguments of iptables, unread. Empty is none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Extra string `json:"extra,omitempty"`
}
