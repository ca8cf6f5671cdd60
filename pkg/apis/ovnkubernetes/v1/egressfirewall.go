package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind here.
var GroupVersion = schema.GroupVersion{Group: "k8s.ovn.org", Version: "v1"}

// EgressFirewall limits to which addresses outside the cluster the pods of its namespace connect. The rules are checked in
// order; what no rule matches is allowed. A namespace has at most one, named default.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=egressfirewall,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'default'",message="name must be default"
type EgressFirewall struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   EgressFirewallSpec   `json:"spec"`
	Status EgressFirewallStatus `json:"status,omitempty"`
}

// EgressFirewallStatus is what the nodes report.
type EgressFirewallStatus struct {
	// +optional
	Status string `json:"status,omitempty"`
	// +optional
	Messages []string `json:"messages,omitempty"`
}

// EgressFirewallSpec is the rules.
type EgressFirewallSpec struct {
	Egress []EgressFirewallRule `json:"egress"`
}

// EgressFirewallRule is what happens to connections to a destination.
type EgressFirewallRule struct {
	Type EgressFirewallRuleType `json:"type"`
	// Ports limits the rule to some ports; empty means every protocol and port.
	//
	// +optional
	Ports []EgressFirewallPort      `json:"ports,omitempty"`
	To    EgressFirewallDestination `json:"to"`
}

// EgressFirewallRuleType is Allow or Deny.
//
// +kubebuilder:validation:Pattern=^Allow|Deny$
type EgressFirewallRuleType string

// The types of rules.
const (
	Allow EgressFirewallRuleType = "Allow"
	Deny  EgressFirewallRuleType = "Deny"
)

// EgressFirewallPort is a port of a protocol.
type EgressFirewallPort struct {
	// +kubebuilder:validation:Pattern=^TCP|UDP|SCTP$
	Protocol string `json:"protocol"`
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=65535
	Port int32 `json:"port"`
}

// EgressFirewallDestination is one of its fields.
//
// +kubebuilder:validation:MinProperties:=1
// +kubebuilder:validation:MaxProperties:=1
type EgressFirewallDestination struct {
	CIDRSelector string `json:"cidrSelector,omitempty"`
	// +kubebuilder:validation:Pattern=`^(\*\.)?([A-Za-z0-9-]+\.)*[A-Za-z0-9-]+\.?$`
	DNSName string `json:"dnsName,omitempty"`
	// +optional
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
}

// EgressFirewallList is a list of the kind.
//
// +kubebuilder:object:root=true
type EgressFirewallList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EgressFirewall `json:"items"`
}
