package crdschema

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// Definition is the schema of a CRD. It is safe for concurrent use.
type Definition struct {
	Kind string

	structural *schema.Structural
	keywords   validation.SchemaValidator
	rules      func() *cel.Validator // compiles the rules of x-kubernetes-validations at its first call; nil if there are none
}

// Parse reads the text of a CRD. Objects are validated by the schema of the storage version. Rules in CEL are compiled
// when the first object is validated; a rule that does not compile is then an error of the object, which fails closed.
func Parse(text []byte) (*Definition, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, fmt.Errorf("read a CRD: %w", err)
	}
	d := &Definition{Kind: crd.Spec.Names.Kind}
	if err := d.read(crd.Spec.Versions); err != nil {
		return nil, fmt.Errorf("read the CRD of %s: %w", d.Kind, err)
	}
	return d, nil
}

func (d *Definition) read(versions []apiextensionsv1.CustomResourceDefinitionVersion) error {
	i := slices.IndexFunc(versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if i < 0 || versions[i].Schema == nil || versions[i].Schema.OpenAPIV3Schema == nil {
		return errors.New("no version with a schema is stored")
	}
	var props apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(versions[i].Schema.OpenAPIV3Schema, &props, nil)
	if err != nil {
		return err
	}
	if d.structural, err = schema.NewStructural(&props); err != nil {
		return err
	}
	if err := schema.ValidateStructural(nil, d.structural).ToAggregate(); err != nil {
		return err
	}
	if d.keywords, _, err = validation.NewSchemaValidator(&props); err != nil {
		return err
	}
	d.rules = sync.OnceValue(func() *cel.Validator { return cel.NewValidator(d.structural, true, celconfig.PerCallLimit) })
	return nil
}
