package watch

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Manifests spells objects of a source as one List in JSON, which a directory or LoadManifest reads again: what is not
// there any more is left out, and so is what netloom does not look at. Secrets that stand in objects are not shown.
func Manifests(source Source, refs []Ref) ([]byte, error) {
	list := struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Withheld   []Kind           `json:"withheld,omitempty"` // that cannot be read: see WithheldOf
		Items      []runtime.Object `json:"items"`
	}{"v1", "List", source.Withheld(), []runtime.Object{}}
	for _, ref := range refs {
		o, ok := source.Get(ref)
		if !ok {
			continue
		}
		r, ok := resourceOf(ref.Kind)
		if !ok {
			continue
		}
		o = o.DeepCopyObject()
		if copied, ok := o.(object); ok {
			withoutSecrets(copied)
		}
		o.GetObjectKind().SetGroupVersionKind(r.version.WithKind(r.kind))
		if m, ok := o.(metav1.Object); ok {
			m.SetResourceVersion("")
			// A slice that stands for an Endpoints object has a name that no object may have.
			m.SetName(strings.ReplaceAll(m.GetName(), "/", "."))
		}
		list.Items = append(list.Items, o)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("spell manifests: %w", err)
	}
	return text, nil
}
