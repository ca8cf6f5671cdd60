package source

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/netloom/netloom/pkg/version"
)

// HeaderObjects is the request header by which a source requests trimmed objects. `netloom gateway` understands it; an API
// server ignores it.
const HeaderObjects = "Netloom-Objects"

// Trimmed is the value of HeaderObjects. It names the build: only the same build uses the same fields, and a gateway of
// another one returns whole objects.
func Trimmed() string {
	v := version.Current()
	s := "trimmed " + v.Version
	if v.Revision != "" {
		s += " " + v.Revision
	}
	if v.Modified {
		s += " modified"
	}
	return s
}

// TrimJSON drops what netloom does not use from the JSON of an object. A source that trims the result gets the same as from
// the whole object.
func TrimJSON(resource schema.GroupVersionResource, raw []byte) ([]byte, error) {
	rows := Resources()
	at := slices.IndexFunc(rows, func(r Resource) bool { return r.GroupVersionResource() == resource })
	if at < 0 {
		return nil, fmt.Errorf("trim %s: not a kind that netloom reads", resource)
	}
	r := rows[at]
	o := r.New()
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, fmt.Errorf("trim %s: %w", resource, err)
	}
	r.Trim(o)
	o.GetObjectKind().SetGroupVersionKind(r.Version.WithKind(r.Kind))
	return json.Marshal(o)
}
