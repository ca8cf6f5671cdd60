package openwrt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Object is one object of a device: the names of its fields, as on the device, and their values. In a canonical object a
// value is a string, a Secret, a Digest, a []string, a []Object or a bool, and fields without a value are absent.
type Object map[string]any

// Secret is text that must not be shown: it always prints as a fixed word.
type Secret string

const redacted = "(redacted)"

// String hides s.
func (s Secret) String() string { return redacted }

// GoString hides s.
func (s Secret) GoString() string { return redacted }

// Format hides s whatever the verb is: a verb that does not apply would print the value.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText hides s.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Name is the field name, "" if there is none.
func (o Object) Name() string {
	s, _ := o["name"].(string)
	return s
}

// Canonical is the form of o for comparing objects of kind k: every value as text, trimmed; without empty values, fields
// that the kind does not have, and fields that the device adds; lists without a meaningful order sorted; connections with
// tunnels first. A value that the device would misread is converted: a string in place of a list is a list of one.
func Canonical(k Kind, o Object) Object {
	s, _ := k.spec()
	return canonical(s.fields, o)
}

func canonical(fields []field, o map[string]any) Object {
	out := Object{}
	for _, f := range fields {
		if v := f.canonical(o[f.name]); v != nil {
			out[f.name] = v
		}
	}
	return out
}

func (f field) canonical(v any) any {
	switch f.shape {
	case flag:
		s := plain(v)
		return s == "1" || s == "true"
	case objects:
		return f.canonicalObjects(v)
	case list, set:
		items := slices.DeleteFunc(plainList(v), func(s string) bool { return s == "" })
		if f.shape == set {
			slices.Sort(items)
			items = slices.Compact(items)
		}
		if len(items) == 0 {
			return nil
		}
		return items
	case text:
		if d, ok := v.(Digest); ok && f.writeOnly {
			return d
		}
		switch s := cmp.Or(plain(v), f.without); {
		case s == "":
			return nil
		case f.secret:
			return Secret(s)
		default:
			return s
		}
	}
	return nil
}

func (f field) canonicalObjects(v any) any {
	var out []Object
	switch v := v.(type) {
	case []Object:
		for _, o := range v {
			out = append(out, canonical(f.of, o))
		}
	case []any:
		for _, item := range v {
			if o, ok := item.(map[string]any); ok {
				out = append(out, canonical(f.of, o))
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	rank := func(o Object) string { return plain(o["conn_type"]) }
	slices.SortStableFunc(out, func(a, b Object) int {
		return cmp.Or(-cmp.Compare(rank(a), rank(b)), // tunnel before transport, and before none
			cmp.Compare(plain(a[f.key]), plain(b[f.key])))
	})
	return out
}

// plain is a value as the device stores it: text, trimmed.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case Secret:
		return strings.TrimSpace(string(v))
	case Digest:
		return string(v)
	case bool:
		if v {
			return "1"
		}
		return "0"
	case json.Number:
		return v.String()
	case int:
		return fmt.Sprint(v)
	default:
		return ""
	}
}

func plainList(v any) []string {
	var out []string
	switch v := v.(type) {
	case []string:
		for _, s := range v {
			out = append(out, strings.TrimSpace(s))
		}
	case []any:
		for _, item := range v {
			out = append(out, plain(item))
		}
	default:
		out = strings.Fields(plain(v)) // a list that was written as one option
	}
	return out
}

// Diff lists the fields in which two objects of kind k differ, in the order of the kind; for an object within a list as
// list[key].field. Values that cannot be read back are compared only if both are present.
func Diff(k Kind, want, got Object) []string {
	s, _ := k.spec()
	return diff(s.fields, canonical(s.fields, want), canonical(s.fields, got), "")
}

func diff(fields []field, want, got Object, at string) []string {
	var out []string
	for _, f := range fields {
		w, g := want[f.name], got[f.name]
		switch {
		case f.shape == objects:
			out = append(out, f.diffObjects(w, g, at)...)
		case f.writeOnly:
			if (w == nil) != (g == nil) {
				out = append(out, at+f.name)
			}
		case f.shape == list || f.shape == set:
			if !slices.Equal(plainList(w), plainList(g)) {
				out = append(out, at+f.name)
			}
		case w != g:
			out = append(out, at+f.name)
		}
	}
	return out
}

func (f field) diffObjects(want, got any, at string) []string {
	w, _ := want.([]Object)
	g, _ := got.([]Object)
	var out []string
	find := func(list []Object, key string) int {
		return slices.IndexFunc(list, func(o Object) bool { return plain(o[f.key]) == key })
	}
	for _, o := range w {
		key := plain(o[f.key])
		place := fmt.Sprintf("%s%s[%s]", at, f.name, key)
		i := find(g, key)
		if i < 0 {
			out = append(out, place)
			continue
		}
		out = append(out, diff(f.of, o, g[i], place+".")...)
	}
	for _, o := range g {
		if key := plain(o[f.key]); find(w, key) < 0 {
			out = append(out, fmt.Sprintf("%s%s[%s]", at, f.name, key))
		}
	}
	return out
}

// wire encodes a canonical object for the device, secrets in cleartext.
func wire(o Object) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(bare(o)); err != nil {
		return nil, fmt.Errorf("encode an object: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// bare is o without the types that hide values.
func bare(o Object) map[string]any {
	out := make(map[string]any, len(o))
	for name, v := range o {
		switch v := v.(type) {
		case Secret:
			out[name] = string(v)
		case []Object:
			inner := make([]map[string]any, 0, len(v))
			for _, one := range v {
				inner = append(inner, bare(one))
			}
			out[name] = inner
		default:
			out[name] = v
		}
	}
	return out
}

// parse reads the object of an answer into a canonical one; nil for null. A value that cannot be read back becomes its
// digest.
func parse(s spec, raw json.RawMessage) (Object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var o map[string]any
	if err := dec.Decode(&o); err != nil {
		return nil, ErrUnexpected
	}
	if o == nil {
		return nil, nil
	}
	for _, f := range s.fields {
		if shown, ok := o[f.name].(string); ok && f.writeOnly && shown != "" {
			o[f.name] = digest(shown)
		}
	}
	return canonical(s.fields, o), nil
}
