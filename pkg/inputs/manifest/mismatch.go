package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// mismatch is a value that does not fit its field.
type mismatch struct {
	field   string
	message string
}

// found comes before the present value in a message.
const found = ", found "

// mismatches finds every value in raw that does not fit a t, with its path. The decoder only names the first, without indices.
func mismatches(raw json.RawMessage, t reflect.Type, path string) []mismatch {
	target := reflect.New(t)
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, target.Interface())
	if err == nil {
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return []mismatch{{path, err.Error()}}
	}
	var inside []mismatch
	switch t.Kind() { //nolint:exhaustive // only these have values within
	case reflect.Struct:
		inside = inMapping(raw, path, func(key string) (reflect.Type, string, bool) {
			f, ok := fieldNamed(t, key)
			return f, join(path, key), ok
		})
	case reflect.Map:
		inside = inMapping(raw, path, func(key string) (reflect.Type, string, bool) {
			return t.Elem(), fmt.Sprintf("%s[%s]", path, key), true
		})
	case reflect.Slice:
		inside = inList(raw, path, t)
	default:
	}
	if len(inside) == 0 {
		return []mismatch{{path, "expected " + wanted(t) + found + shape(raw)}}
	}
	return inside
}

func inMapping(raw json.RawMessage, path string, child func(key string) (reflect.Type, string, bool)) []mismatch {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return []mismatch{{path, "expected a mapping" + found + shape(raw)}}
	}
	var inside []mismatch
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if t, at, ok := child(key); ok {
			inside = append(inside, mismatches(values[key], t, at)...)
		}
	}
	return inside
}

func inList(raw json.RawMessage, path string, t reflect.Type) []mismatch {
	var values []json.RawMessage
	if t.Elem().Kind() == reflect.Uint8 {
		return nil // base64 text, not a list
	}
	if err := json.Unmarshal(raw, &values); err != nil {
		return []mismatch{{path, "expected a list" + found + shape(raw)}}
	}
	var inside []mismatch
	for i, v := range values {
		inside = append(inside, mismatches(v, t.Elem(), fmt.Sprintf("%s[%d]", path, i))...)
	}
	return inside
}

// fieldNamed finds the type of the field called name in JSON, in t or in what t embeds.
func fieldNamed(t reflect.Type, name string) (reflect.Type, bool) {
	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return f.Type, true
		}
		if f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct {
			if inner, ok := fieldNamed(f.Type, name); ok {
				return inner, true
			}
		}
	}
	return nil, false
}

func wanted(t reflect.Type) string {
	switch t.Kind() { //nolint:exhaustive // the kinds that API types are made of
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "text in base64"
		}
		return "a list"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer (" + t.Kind().String() + ")"
	default:
		return t.Kind().String()
	}
}

// shape describes a JSON value in a word, with the value if it is short.
func shape(raw json.RawMessage) string {
	s := strings.TrimSpace(string(raw))
	switch {
	case s == "", s == "null":
		return "nothing"
	case s[0] == '{':
		return "a mapping"
	case s[0] == '[':
		return "a list"
	case len(s) > 40:
		s = s[:40] + "..."
	}
	if s[0] == '"' {
		return "the string " + s
	}
	return s
}

// join appends a field name to a path.
func join(path, name string) string {
	if path == "" || name == "" || name[0] == '[' {
		return path + name
	}
	return path + "." + name
}
