package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CNFRouteRule says which packets look up which table of routes. It acts at once.
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

	// What is wanted.
	Spec CNFRouteRuleSpec `json:"spec"`

	// What has become of it. Written by the controller only.
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

// CNFRouteRuleSpec is what a rule matches, and the table.
type CNFRouteRuleSpec struct {
	// Source address or prefix. Empty is any.
	// +optional
	Src Address `json:"src,omitempty"`

	// Destination address or prefix. Empty is any.
	// +optional
	Dst Address `json:"dst,omitempty"`

	// True turns the match round: all packets but these.
	// +optional
	Not bool `json:"not,omitempty"`

	// Priority, from 1; the rule of the lowest number that matches decides. Empty puts the rule before all that are there.
	// +optional
	Prio Positive `json:"prio,omitempty"`

	// Mark that packets carry, decimal or hexadecimal, at most ten characters. Empty is any.
	// +optional
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10})?$')",message="must be a mark such as 16 or 0x10"
	FWMark string `json:"fwmark,omitempty"`

	// Table to look up: main, local, default, or a number from 1; 40 is the table cnf of CNFRoutes. Empty is main.
	// +optional
	// +kubebuilder:default=main
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="self.matches('^(main|local|default|[1-9][0-9]{0,9})?$')",message="must be main, local, default or a positive integer"
	Table string `json:"table,omitempty"`
}
