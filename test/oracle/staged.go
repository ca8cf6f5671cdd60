package oracle

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// enforcement is netloom's annotation, which no API documents: docs/staged.md does.
const enforcement = "netloom.io/enforcement"

// inForce lists the policies that are not staged. NetworkPolicies without the annotation are as their namespace has it; a value other
// than staged enforces.
func inForce[P metav1.Object](c *Cluster, policies []P) []P {
	var out []P
	for _, p := range policies {
		value, own := p.GetAnnotations()[enforcement]
		if _, namespaced := any(p).(*networkingv1.NetworkPolicy); namespaced && !own {
			for _, n := range c.Namespaces {
				if n.Name == p.GetNamespace() {
					value = n.Annotations[enforcement]
				}
			}
		}
		if value != "staged" {
			out = append(out, p)
		}
	}
	return out
}
