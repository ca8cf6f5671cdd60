package manifest

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// Write writes objects of a source as one List in JSON, which a directory or Load can read: deleted objects and fields that netloom does
// not use are left out. Secrets in objects are not shown. It holds a copy of one object at a time. The other clusters of a set, if there is
// one, are written with it.
func Write(w io.Writer, src source.Source, refs []object.Ref, set *ClusterSet) error {
	head := struct {
		APIVersion  string   `json:"apiVersion"`
		Kind        string   `json:"kind"`
		Unavailable []string `json:"unavailable,omitempty"` // that cannot be read: see UnavailableOf
		Items       struct{} `json:"items"`
	}{APIVersion: "v1", Kind: "List", Unavailable: src.Unavailable()}
	text, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("export manifests: %w", err)
	}
	before := strings.TrimSuffix(string(text), "{}}") + "["
	if set != nil {
		if _, err := io.WriteString(w, strings.TrimSuffix(before, `"items":[`)); err != nil {
			return err
		}
		if err := set.write(w); err != nil {
			return err
		}
		before = `"items":[`
	}
	for _, ref := range refs {
		o, ok := exported(src, ref)
		if !ok {
			continue
		}
		if text, err = json.Marshal(o); err != nil {
			return fmt.Errorf("export manifests: %s: %w", ref, err)
		}
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		before = ","
	}
	if before == "," {
		before = ""
	}
	_, err = io.WriteString(w, before+"]}")
	return err
}

// exported returns a copy of an object as manifests show it.
func exported(src source.Source, ref object.Ref) (runtime.Object, bool) {
	o, ok := src.Get(ref)
	if !ok {
		return nil, false
	}
	r, ok := kindOf(ref.Kind)
	if !ok {
		return nil, false
	}
	o = o.DeepCopyObject()
	if copied, ok := o.(source.Object); ok {
		withoutSecrets(copied)
	}
	o.GetObjectKind().SetGroupVersionKind(r.Version.WithKind(r.Kind))
	if m, ok := o.(metav1.Object); ok {
		m.SetResourceVersion("")
		// A slice made of an Endpoints object has a name that no object may have.
		m.SetName(strings.ReplaceAll(m.GetName(), "/", "."))
	}
	return o, true
}
