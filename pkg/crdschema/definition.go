package crdschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"sigs.k8s.io/yaml"
)

// Definition is what a CRD says of the objects of its kind. Parse makes one.
type Definition struct {
	Kind string
	root *schema
}

// schema is one level of a structural schema. A keyword that is missing here is refused.
type schema struct {
	Type                 string             `json:"type"`
	Description          string             `json:"description"`
	Format               string             `json:"format"` // of status only, and of numbers that decoding bounds
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	AdditionalProperties *schema            `json:"additionalProperties"`
	Items                *schema            `json:"items"`
	Enum                 []any              `json:"enum"`
	Default              any                `json:"default"`
	Pattern              string             `json:"pattern"`
	MinLength            *int               `json:"minLength"`
	MaxLength            *int               `json:"maxLength"`
	MinItems             *int               `json:"minItems"`
	MaxItems             *int               `json:"maxItems"`
	Minimum              *int64             `json:"minimum"`
	Maximum              *int64             `json:"maximum"`
	ListType             string             `json:"x-kubernetes-list-type"`
	ListMapKeys          []string           `json:"x-kubernetes-list-map-keys"`
	MapType              string             `json:"x-kubernetes-map-type"` // says how to merge: nothing to judge
	Rules                []*rule            `json:"x-kubernetes-validations"`

	pattern *regexp.Regexp
}

// rule is a condition in CEL.
type rule struct {
	Rule      string `json:"rule"`
	Message   string `json:"message"`
	FieldPath string `json:"fieldPath"` // such as .src_dip; "" is the value that the rule stands at
	Reason    string `json:"reason"`

	holds expression
}

// The reasons of rules that demand a field, or that it be away. Any other fault is a wrong value.
const (
	reasonRequired  = "FieldValueRequired"
	reasonForbidden = "FieldValueForbidden"
)

// Parse reads the text of a CRD with one version. It fails on what it could not judge by.
func Parse(text []byte) (*Definition, error) {
	var crd struct {
		Spec struct {
			Names    struct{ Kind string }
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema json.RawMessage
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, fmt.Errorf("read a CRD: %w", err)
	}
	if len(crd.Spec.Versions) != 1 {
		return nil, errors.New("read a CRD: expected one version")
	}
	d := &Definition{Kind: crd.Spec.Names.Kind, root: &schema{}}
	decoder := json.NewDecoder(bytes.NewReader(crd.Spec.Versions[0].Schema.OpenAPIV3Schema))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d.root); err != nil {
		return nil, fmt.Errorf("read the CRD of %s: %w", d.Kind, err)
	}
	for _, not := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(d.root.Properties, not)
	}
	if err := d.root.compile(); err != nil {
		return nil, fmt.Errorf("read the CRD of %s: %w", d.Kind, err)
	}
	return d, nil
}

// compile prepares patterns and rules, here and below.
func (s *schema) compile() error {
	var err error
	if s.Pattern != "" {
		if s.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return err
		}
	}
	if s.ListType == "set" {
		return errors.New("lists that are sets are not known here")
	}
	for _, r := range s.Rules {
		if r.holds, err = parseRule(r.Rule); err != nil {
			return fmt.Errorf("rule %q: %w", r.Rule, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if err := s.Properties[name].compile(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, below := range []*schema{s.Items, s.AdditionalProperties} {
		if below == nil {
			continue
		}
		if err := below.compile(); err != nil {
			return err
		}
	}
	return nil
}
