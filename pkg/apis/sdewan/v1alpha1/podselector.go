package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PodSelector is a metav1.LabelSelector with size limits. All of its requirements must match.
type PodSelector struct {
	// Labels that the pods must have, with their values.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63)",message="keys must have at most 317 characters, values at most 63"
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// Requirements on the labels of the pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	MatchExpressions []PodSelectorRequirement `json:"matchExpressions,omitempty"`
}

// PodSelectorRequirement is a requirement on the label with a certain key.
type PodSelectorRequirement struct {
	// Label key.
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// In and NotIn require values; Exists and DoesNotExist do not allow any.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// Label values.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	Values []string `json:"values,omitempty"`
}

// LabelSelector converts s to the API's own type.
func (s *PodSelector) LabelSelector() *metav1.LabelSelector {
	out := &metav1.LabelSelector{MatchLabels: s.MatchLabels}
	for _, r := range s.MatchExpressions {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement(r))
	}
	return out
}
