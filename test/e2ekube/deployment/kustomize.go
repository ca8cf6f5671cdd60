package deployment

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Kustomization is a kustomization.yaml for a resource and components of a directory such as deploy/kustomize.
func Kustomization(dir, resource string, components ...string) string {
	text := fmt.Sprintf("resources: [%s/%s]\n", dir, resource)
	for i, c := range components {
		if i == 0 {
			text += "components:\n"
		}
		text += fmt.Sprintf("- %s/components/%s\n", dir, c)
	}
	return text
}

// Kustomize renders the kustomization in a directory.
func Kustomize(dir string) ([]*unstructured.Unstructured, error) {
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", dir, err)
	}
	text, err := rendered.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", dir, err)
	}
	return parse("kustomize "+dir, text)
}
