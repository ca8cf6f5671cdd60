package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NetworkFirewallRule decides what happens to packets between interfaces of a CNF, without zones. With dest, it applies to
// packets that the CNF forwards; without dest, to packets addressed to the CNF itself. Rules take effect immediately, after
// all existing ones.
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

	// The desired state.
	Spec NetworkFirewallRuleSpec `json:"spec"`

	// The observed state. Written by the controller only.
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

// NetworkFirewallRuleSpec defines which packets a rule matches, and what happens to them.
//
// The device fails on a rule without src, without target, or with proto icmp and no icmp_type, after applying half of it. It
// ignores extra.
//
// +kubebuilder:validation:XValidation:rule="has(self.target) && size(self.target) > 0",message="target is required",reason=FieldValueRequired,fieldPath=.target
// +kubebuilder:validation:XValidation:rule="!has(self.proto) || self.proto != 'icmp' || (has(self.icmp_type) && size(self.icmp_type) > 0)",message="proto icmp requires icmp_type, such as any",reason=FieldValueRequired,fieldPath=.icmp_type
// +kubebuilder:validation:XValidation:rule="!has(self.extra) || size(self.extra) == 0",message="the device ignores extra between interfaces, so that the rule would match more packets than it should",reason=FieldValueForbidden,fieldPath=.extra
type NetworkFirewallRuleSpec struct {
	// Ignored: an object is identified by metadata.name. Upstream overwrites this field with it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Incoming interface. The device requires it.
	// +kubebuilder:validation:MinLength=1
	Src Interface `json:"src"`

	// Outgoing interface. Empty means packets addressed to the CNF itself.
	// +optional
	Dest Interface `json:"dest,omitempty"`

	PacketRule `json:",inline"`
}
