package kustomization

import (
	"fmt"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Build returns the objects of a kustomization as YAML documents.
func Build(dir string) ([]byte, error) {
	if err := checkLocal(dir); err != nil {
		return nil, err
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("build the kustomization: %w", err)
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("build the kustomization: %w", err)
	}
	return text, nil
}
