package suggest

import (
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// Manifest formats policies as a stream of manifests, without the fields that only an API server sets.
func Manifest(policies []*networkingv1.NetworkPolicy) (string, error) {
	var b strings.Builder
	for i, p := range policies {
		text, err := yaml.Marshal(map[string]any{
			"apiVersion": p.APIVersion, "kind": p.Kind,
			"metadata": map[string]string{"name": p.Name, "namespace": p.Namespace}, "spec": p.Spec,
		})
		if err != nil {
			return "", fmt.Errorf("format NetworkPolicy %s/%s: %w", p.Namespace, p.Name, err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(text)
	}
	return b.String(), nil
}
