package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PodSelector is metav1.LabelSelector with limits. All of its parts must match.
type PodSelector struct {
	// Labels that pods must have, with their values.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63)",message="keys must have at most 317 characters, values at most 63"
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// Requirements on labels of pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	MatchExpressions []PodSelectorRequirement `json:"matchExpressions,omitempty"`
}

// PodSelectorRequirement relates the label of a key to values.
type PodSelectorRequirement struct {
	// Key of the label.
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// In and NotIn need values; Exists and DoesNotExist take none.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// Values of the label.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	Values []string `json:"values,omitempty"`
}

// LabelSelector is s as the API's own selector.
func (s *PodSelector) LabelSelector() *metav1.LabelSelector {
	out := &metav1.LabelSelector{MatchLabels: s.MatchLabels}
	for _, r := range s.MatchExpressions {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement(r))
	}
	return out
}
