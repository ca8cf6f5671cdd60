package crdschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate says what is wrong with an object, as encoding/json decodes it; json.Number counts as a number. A null counts as
// an absent field, and defaults are thought of as filled in; the object stays as it is.
//
// Rules are looked at only in an object whose fields are there, of the right type and of no excessive length: that is what
// rules take for granted.
func (d *Definition) Validate(object map[string]any) field.ErrorList {
	complete := d.root.fill(object)
	faults := d.root.judge(complete, nil)
	if slices.ContainsFunc(faults, blocks) {
		return faults
	}
	return append(faults, d.root.rules(complete, nil)...)
}

// blocks says whether an API server that finds a fault looks at no rules.
func blocks(fault *field.Error) bool {
	return slices.Contains([]field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
		field.ErrorTypeTypeInvalid,
	}, fault.Type)
}

// fill copies a value without nulls, with defaults, and with whole numbers as int64.
func (s *schema) fill(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, below := range v {
			if below == nil {
				continue
			}
			if next := s.child(name); next != nil {
				out[name] = next.fill(below)
			}
		}
		for name, next := range s.Properties {
			if _, ok := out[name]; !ok && next.Default != nil {
				out[name] = next.Default
			}
		}
		return out
	case []any:
		if s.Items == nil {
			return v
		}
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.Items.fill(v[i])
		}
		return out
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		return v
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
		return v
	default:
		return v
	}
}

// child is the schema of a field, nil for one that is not known.
func (s *schema) child(name string) *schema {
	if next := s.Properties[name]; next != nil {
		return next
	}
	return s.AdditionalProperties
}

// judge says what is wrong with a filled value, rules aside.
func (s *schema) judge(value any, at *field.Path) field.ErrorList {
	if is := typeOf(value); s.Type != "" && is != s.Type {
		return field.ErrorList{field.TypeInvalid(at, is, "must be of type "+s.Type)}
	}
	faults := s.oneOf(value, at)
	switch v := value.(type) {
	case string:
		faults = append(faults, s.text(v, at)...)
	case int64:
		if s.Minimum != nil && v < *s.Minimum {
			faults = append(faults, field.Invalid(at, v, fmt.Sprintf("should be greater than or equal to %d", *s.Minimum)))
		}
		if s.Maximum != nil && v > *s.Maximum {
			faults = append(faults, field.Invalid(at, v, fmt.Sprintf("should be less than or equal to %d", *s.Maximum)))
		}
	case []any:
		faults = append(faults, s.list(v, at)...)
	case map[string]any:
		faults = append(faults, s.mapping(v, at)...)
	}
	return faults
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		return "number"
	}
}

func (s *schema) oneOf(value any, at *field.Path) field.ErrorList {
	if len(s.Enum) == 0 || slices.Contains(s.Enum, value) {
		return nil
	}
	known := make([]string, len(s.Enum))
	for i, e := range s.Enum {
		known[i] = fmt.Sprint(e)
	}
	return field.ErrorList{field.NotSupported(at, value, known)}
}

func (s *schema) text(v string, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	n := utf8.RuneCountInString(v)
	if s.MaxLength != nil && n > *s.MaxLength {
		faults = append(faults, field.TooLong(at, v, *s.MaxLength))
	}
	if s.MinLength != nil && n < *s.MinLength {
		faults = append(faults, field.Invalid(at, v, fmt.Sprintf("should be at least %d chars long", *s.MinLength)))
	}
	if s.pattern != nil && !s.pattern.MatchString(v) {
		faults = append(faults, field.Invalid(at, v, fmt.Sprintf("should match '%s'", s.Pattern)))
	}
	return faults
}

func (s *schema) list(v []any, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	if s.MaxItems != nil && len(v) > *s.MaxItems {
		return field.ErrorList{field.TooMany(at, len(v), *s.MaxItems)}
	}
	if s.MinItems != nil && len(v) < *s.MinItems {
		faults = append(faults, field.Invalid(at, len(v), fmt.Sprintf("should have at least %d items", *s.MinItems)))
	}
	seen := map[string]bool{}
	for i := range v {
		if s.Items != nil {
			faults = append(faults, s.Items.judge(v[i], at.Index(i))...)
		}
		if len(s.ListMapKeys) == 0 {
			continue
		}
		key := s.keyOf(v[i])
		if seen[key] {
			faults = append(faults, field.Duplicate(at.Index(i), key))
		}
		seen[key] = true
	}
	return faults
}

// keyOf spells the keys of an item of a list with keys.
func (s *schema) keyOf(item any) string {
	m, _ := item.(map[string]any)
	parts := make([]string, len(s.ListMapKeys))
	for i, k := range s.ListMapKeys {
		parts[i] = fmt.Sprintf("%s: %v", k, m[k])
	}
	return strings.Join(parts, ", ")
}

func (s *schema) mapping(v map[string]any, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			faults = append(faults, field.Required(at.Child(name), ""))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if next := s.child(name); next != nil {
			faults = append(faults, next.judge(v[name], s.below(at, name))...)
		}
	}
	return faults
}

// below is the path of a field or, of a mapping with free keys, of a key.
func (s *schema) below(at *field.Path, name string) *field.Path {
	if s.Properties[name] == nil {
		return at.Key(name)
	}
	return at.Child(name)
}

// rules says which rules do not hold, here and below.
func (s *schema) rules(value any, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	for _, r := range s.Rules {
		if fault := r.judge(value, at); fault != nil {
			faults = append(faults, fault)
		}
	}
	switch v := value.(type) {
	case []any:
		for i := range v {
			if s.Items != nil {
				faults = append(faults, s.Items.rules(v[i], at.Index(i))...)
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if next := s.child(name); next != nil {
				faults = append(faults, next.rules(v[name], s.below(at, name))...)
			}
		}
	}
	return faults
}

// judge is nil where the rule holds. The value is quoted where it is text, and nothing of a whole mapping.
func (r *rule) judge(self any, at *field.Path) *field.Error {
	ok, err := r.holds(self)
	if ok == true && err == nil {
		return nil
	}
	message := r.Message
	if err != nil {
		message = err.Error()
	}
	if name := strings.TrimPrefix(r.FieldPath, "."); name != "" {
		at = at.Child(name)
	}
	switch r.Reason {
	case reasonRequired:
		return field.Required(at, message)
	case reasonForbidden:
		return field.Forbidden(at, message)
	}
	if text, ok := self.(string); ok {
		return field.Invalid(at, text, message)
	}
	return field.Invalid(at, field.OmitValueType{}, message)
}
