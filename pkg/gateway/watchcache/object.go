package watchcache

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// object is one version of an object as the upstream sent it. It is read-only.
type object struct {
	key             string // namespace/name, or the name
	namespace, name string
	version         uint64
	labels          labels.Set
	fields          fields.Set
	raw             []byte // JSON with kind and apiVersion
	bare            int    // where the members after kind and apiVersion begin; zero if they do not come first

	trim    sync.Once
	trimmed []byte
}

// parse reads an object of r. Items of lists of built-in kinds have no kind and apiVersion; they are added.
func (r *Resource) parse(raw []byte) (*object, error) {
	var head struct {
		Kind     string
		Metadata struct {
			Namespace, Name, ResourceVersion string
			Labels                           map[string]string
		}
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("read an object of %s: %w", r.Resource, err)
	}
	m := head.Metadata
	version, err := strconv.ParseUint(m.ResourceVersion, 10, 64)
	if err != nil || m.Name == "" || (m.Namespace == "") == r.Namespaced {
		return nil, fmt.Errorf("an object of %s has the name %q, the namespace %q and the resource version %q",
			r.Resource, m.Name, m.Namespace, m.ResourceVersion)
	}
	prefix := r.typeMeta()
	raw = bytes.TrimSpace(raw)
	if head.Kind == "" && len(raw) > 2 {
		raw = append([]byte(prefix), raw[1:]...)
	} else {
		raw = bytes.Clone(raw)
	}
	o := &object{key: m.Name, namespace: m.Namespace, name: m.Name, version: version, labels: m.Labels, raw: raw}
	if r.Namespaced {
		o.key = m.Namespace + "/" + m.Name
	}
	if bytes.HasPrefix(raw, []byte(prefix)) {
		o.bare = len(prefix)
	}
	o.fields = fields.Set{}
	if r.Fields != nil {
		if o.fields, err = r.Fields(raw); err != nil {
			return nil, fmt.Errorf("read the fields of %s %s: %w", r.Resource, o.key, err)
		}
	}
	o.fields[fieldName] = m.Name
	if r.Namespaced {
		o.fields[fieldNamespace] = m.Namespace
	}
	return o, nil
}

// typeMeta is how the JSON of an object begins in a watch.
func (r *Resource) typeMeta() string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, r.Kind, r.GroupVersion().String())
}

// at returns a copy of o with another resource version: the last state that a selector matched, as of the change that ended
// the match.
func (o *object) at(version uint64) (*object, error) {
	start, end, err := versionSpan(o.raw)
	if err != nil {
		return nil, err
	}
	c := &object{key: o.key, namespace: o.namespace, name: o.name, version: version, labels: o.labels, fields: o.fields, bare: o.bare}
	c.raw = append(append(append(make([]byte, 0, len(o.raw)+8), o.raw[:start]...), strconv.Quote(strconv.FormatUint(version, 10))...), o.raw[end:]...)
	return c, nil
}

// versionSpan finds the value of metadata.resourceVersion.
func versionSpan(raw []byte) (start, end int, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if start, end, err = member(d, "metadata"); err != nil {
		return 0, 0, err
	}
	inner := json.NewDecoder(bytes.NewReader(raw[start:end]))
	s, e, err := member(inner, "resourceVersion")
	return start + s, start + e, err
}

// member finds the value of a member of the object that d reads.
func member(d *json.Decoder, name string) (start, end int, err error) {
	if _, err := d.Token(); err != nil {
		return 0, 0, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return 0, 0, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return 0, 0, err
		}
		if key == name {
			end := int(d.InputOffset())
			return end - len(value), end, nil
		}
	}
	return 0, 0, fmt.Errorf("no member %q", name)
}

// Trimming is a smaller form of objects, for clients that ask for it.
type Trimming struct {
	// Header and Value are what a request asks with. The answer repeats them if it is granted.
	Header, Value string
	// Trim reduces the JSON of an object. It keeps kind, apiVersion and the members of metadata that identify a version. Objects
	// for which it fails stay whole.
	Trim Trim
}

// Trim is the function of a Trimming.
type Trim func(resource schema.GroupVersionResource, raw []byte) ([]byte, error)

// in returns o in a representation: trimmed if f is not nil. What cannot be trimmed stays whole.
func (o *object) in(r *Resource, f Trim) []byte {
	if f == nil {
		return o.raw
	}
	o.trim.Do(func() {
		if small, err := f(r.GroupVersionResource, o.raw); err == nil {
			o.trimmed = small
		} else {
			o.trimmed = o.raw
		}
	})
	return o.trimmed
}

// item returns o as an element of a list.
func (o *object) item(r *Resource, f Trim) (opening string, rest []byte) {
	if f == nil && o.bare > 0 {
		return "{", o.raw[o.bare:]
	}
	return "", o.in(r, f)
}
