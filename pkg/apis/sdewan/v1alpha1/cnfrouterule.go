package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CNFRouteRule selects the routing table for packets. It takes effect immediately.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cnfrouterules,singular=cnfrouterule,scope=Namespaced,shortName=crr,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type CNFRouteRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec CNFRouteRuleSpec `json:"spec"`

	// The observed state. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// CNFRouteRuleList is a list of CNFRouteRule.
//
// +kubebuilder:object:root=true
type CNFRouteRuleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CNFRouteRule `json:"items"`
}

// CNFRouteRuleSpec defines which packets a rule matches, and their routing table.
type CNFRouteRuleSpec struct {
	// Source address or prefix. Empty means any.
	// +optional
	Src Address `json:"src,omitempty"`

	// Destination address or prefix. Empty means any.
	// +optional
	Dst Address `json:"dst,omitempty"`

	// True inverts the match: all packets except these.
	// +optional
	Not bool `json:"not,omitempty"`

	// Priority, from 1; the matching rule with the lowest number applies. SdewanApplications apply before every rule. Empty means a number
	// from 200 to 999 that depends on namespace and name only.
	// +optional
	Prio Positive `json:"prio,omitempty"`

	// Mark of the packets, decimal or hexadecimal, at most ten characters. Empty means any.
	// +optional
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10})?$')",message="must be a mark such as 16 or 0x10"
	FWMark string `json:"fwmark,omitempty"`

	// Routing table: main, local, default, or a number from 1; 40 is the table cnf of CNFRoutes. Empty means main.
	// +optional
	// +kubebuilder:default=main
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="self.matches('^(main|local|default|[1-9][0-9]{0,9})?$')",message="must be main, local, default or a positive integer"
	Table string `json:"table,omitempty"`
}
