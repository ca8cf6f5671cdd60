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
// one, are written with it, and so is what the source does not deliver, if that was looked for.
func Write(w io.Writer, src source.Source, refs []object.Ref, set *ClusterSet, beyond *source.Undelivered) error {
	head := struct {
		APIVersion  string             `json:"apiVersion"`
		Kind        string             `json:"kind"`
		Unavailable []string           `json:"unavailable,omitempty"` // that cannot be read: see UnavailableOf
		Unlisted    *[]source.Unlisted `json:"unlisted,omitempty"`    // see UnlistedOf
		Items       struct{}           `json:"items"`
	}{APIVersion: "v1", Kind: "List", Unavailable: src.Unavailable()}
	if beyond != nil {
		unlisted := append([]source.Unlisted{}, beyond.Unlisted...)
		head.Unlisted = &unlisted
	}
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
	items := &items{w: w, before: before}
	for _, ref := range refs {
		o, ok := exported(src, ref)
		if !ok {
			continue
		}
		if text, err = json.Marshal(o); err != nil {
			return fmt.Errorf("export manifests: %s: %w", ref, err)
		}
		if err := items.add(text); err != nil {
			return err
		}
	}
	if beyond != nil {
		for _, text := range beyond.Objects {
			if err := items.add(text); err != nil {
				return err
			}
		}
	}
	return items.end()
}

// items are the items of a List that is being written.
type items struct {
	w      io.Writer
	before string // what comes before the next one
}

func (i *items) add(text []byte) error {
	if _, err := io.WriteString(i.w, i.before); err != nil {
		return err
	}
	i.before = ","
	_, err := i.w.Write(text)
	return err
}

func (i *items) end() error {
	if i.before == "," {
		i.before = ""
	}
	_, err := io.WriteString(i.w, i.before+"]}")
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
