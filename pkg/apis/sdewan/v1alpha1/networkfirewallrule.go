package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NetworkFirewallRule says what becomes of packets between interfaces of a CNF, without zones. With dest it is about packets
// that cross the CNF, without about those for the CNF itself. Rules act at once, behind all there are.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=networkfirewallrules,singular=networkfirewallrule,scope=Namespaced,shortName=nfwr,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type NetworkFirewallRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is wanted.
	Spec NetworkFirewallRuleSpec `json:"spec"`

	// What has become of it. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// NetworkFirewallRuleList is a list of NetworkFirewallRule.
//
// +kubebuilder:object:root=true
type NetworkFirewallRuleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NetworkFirewallRule `json:"items"`
}

// NetworkFirewallRuleSpec is what a rule matches, and what happens then.
//
// The device breaks off over a rule without src, without target, or of proto icmp without icmp_type, and keeps half of it.
//
// +kubebuilder:validation:XValidation:rule="has(self.target) && size(self.target) > 0",message="target is required",reason=FieldValueRequired,fieldPath=.target
// +kubebuilder:validation:XValidation:rule="!has(self.proto) || self.proto != 'icmp' || (has(self.icmp_type) && size(self.icmp_type) > 0)",message="proto icmp requires icmp_type, such as any",reason=FieldValueRequired,fieldPath=.icmp_type
type NetworkFirewallRuleSpec struct {
	// Without effect: an object is known by metadata.name. Upstream overwrote it with that.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Interface that packets come in by. The device cannot do without.
	// +kubebuilder:validation:MinLength=1
	Src Interface `json:"src"`

	// Interface that packets leave by. Empty is about packets for the CNF itself.
	// +optional
	Dest Interface `json:"dest,omitempty"`

	PacketRule `json:",inline"`
}
