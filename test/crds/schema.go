package crds

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// Definition is a CRD, and its form in an API server.
type Definition struct {
	// Text is the CRD as in the file.
	Text *apiextensionsv1.CustomResourceDefinition
	// Defaulted is the CRD as an API server would store it.
	Defaulted *apiextensions.CustomResourceDefinition

	structural *schema.Structural
	openAPI    validation.SchemaValidator
	cel        *cel.Validator
}

// Load reads every CRD at the top of dir, by kind.
func Load(dir fs.FS) (map[string]*Definition, error) {
	files, err := fs.Glob(dir, "*.yaml")
	if err != nil {
		return nil, err
	}
	out := map[string]*Definition{}
	for _, f := range files {
		text, err := fs.ReadFile(dir, f)
		if err != nil {
			return nil, err
		}
		d, err := define(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		out[d.Text.Spec.Names.Kind] = d
	}
	return out, nil
}

// define reads the text of one CRD.
func define(text []byte) (*Definition, error) {
	d := &Definition{Text: &apiextensionsv1.CustomResourceDefinition{}, Defaulted: &apiextensions.CustomResourceDefinition{}}
	if err := yaml.UnmarshalStrict(text, d.Text); err != nil {
		return nil, err
	}
	full := d.Text.DeepCopy()
	apiextensionsv1.SetDefaults_CustomResourceDefinition(full)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&full.Spec)
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(full, d.Defaulted, nil); err != nil {
		return nil, err
	}
	s, err := apiextensions.GetSchemaForVersion(d.Defaulted, d.Text.Spec.Versions[0].Name)
	if err != nil {
		return nil, err
	}
	if d.structural, err = schema.NewStructural(s.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	if d.openAPI, _, err = validation.NewSchemaValidator(s.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	d.cel = cel.NewValidator(d.structural, true, celconfig.PerCallLimit)
	return d, nil
}

// Admit treats o as an API server treats an object that is created with strict field validation: it fills in defaults,
// and returns the errors as the user sees them.
func (d *Definition) Admit(ctx context.Context, o map[string]any) []string {
	unknown := pruning.PruneWithOptions(o, d.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	var out []string
	for _, path := range unknown {
		out = append(out, fmt.Sprintf("unknown field %q", path))
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(o, d.structural)
	defaulting.Default(o, d.structural)
	errs := validation.ValidateCustomResource(nil, o, d.openAPI)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, d.structural, o)...)
	if !blocking(errs) {
		more, _ := d.cel.Validate(ctx, nil, d.structural, o, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, more...)
	}
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

// blocking reports whether an API server stops at these errors and does not evaluate the rules in CEL.
func blocking(errs field.ErrorList) bool {
	types := []field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
		field.ErrorTypeTypeInvalid,
	}
	return slices.ContainsFunc(errs, func(e *field.Error) bool { return slices.Contains(types, e.Type) })
}
