package deployment

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// parse reads a stream of YAML and sorts its objects into the order in which they can be applied.
func parse(what string, stream []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for text := range bytes.SplitSeq(append([]byte("\n"), stream...), []byte("\n---")) {
		var content map[string]any
		if err := yaml.UnmarshalStrict(text, &content); err != nil {
			return nil, fmt.Errorf("%s: %w:\n%s", what, err, text)
		}
		if len(content) > 0 {
			all = append(all, &unstructured.Unstructured{Object: content})
		}
	}
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a), rank(b)) })
	return all, nil
}

// rank sorts objects that others depend on first.
func rank(o *unstructured.Unstructured) int {
	switch o.GetKind() {
	case "CustomResourceDefinition", "Namespace":
		return 0
	case "Deployment", "DaemonSet":
		return 2
	default:
		return 1
	}
}

// Find returns the object of a kind and name, nil if there is none.
func Find(objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}
