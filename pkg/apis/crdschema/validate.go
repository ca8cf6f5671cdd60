package crdschema

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Validate returns what is wrong with an object, by field; nil if it is valid. Numbers are int64 and float64, as
// k8s.io/apimachinery/pkg/util/json decodes them. A null counts as an absent field, defaults are filled in and the status
// is ignored, as an API server does with a new object; the object itself is not changed.
//
// Like an API server, it evaluates rules in CEL only for an object whose fields are present, of the right type and not
// too long. The cost limit for the rules of one object is that of a server.
func (d *Definition) Validate(object map[string]any) field.ErrorList {
	complete := runtime.DeepCopyJSON(object)
	delete(complete, "status")
	defaulting.PruneNonNullableNullsWithoutDefaults(complete, d.structural)
	defaulting.Default(complete, d.structural)

	faults := located(validation.ValidateCustomResource(nil, complete, d.keywords))
	for _, fault := range faults {
		shorten(fault)
	}
	slices.SortFunc(faults, func(a, b *field.Error) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Detail, b.Detail))
	})
	faults = append(faults, listtype.ValidateListSetsAndMaps(nil, d.structural, complete)...)
	if slices.ContainsFunc(faults, blocks) {
		return faults
	}
	ctx := context.Background() //nolint:forbidigo // The cost limit bounds the work: there is nothing to cancel.
	broken, _ := d.rules().Validate(ctx, nil, d.structural, complete, nil, celconfig.RuntimeCELCostBudget)
	// A server visits fields in random order. The rules of one field keep their order.
	slices.SortStableFunc(broken, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	return append(faults, broken...)
}

// located adds the field to errors about a number's format, which a server has only in the text: `Checked value must be
// of type integer with format int32 in spec.port`. Duplicates for a field are dropped.
func located(faults field.ErrorList) field.ErrorList {
	nowhere := (*field.Path)(nil).String()
	for _, fault := range faults {
		text, found := strings.CutPrefix(fault.Detail, "Checked value ")
		if at := strings.LastIndex(text, " in "); found && at >= 0 && fault.Field == nowhere {
			fault.Field, fault.Detail, fault.BadValue = text[at+len(" in "):], text[:at], field.OmitValueType{}
		}
	}
	repeats := func(fault *field.Error) bool {
		return fault.BadValue == any(field.OmitValueType{}) && slices.ContainsFunc(faults, func(other *field.Error) bool {
			return other != fault && other.Field == fault.Field && other.Type == field.ErrorTypeTypeInvalid
		})
	}
	return slices.DeleteFunc(slices.Clone(faults), repeats)
}

// shorten removes what the detail repeats: `spec.dst in body must be of type string: "integer"` repeats the field and,
// for a wrong type, the value.
func shorten(fault *field.Error) {
	if _, rest, ok := strings.Cut(fault.Detail, " in body "); ok {
		fault.Detail = rest
	}
	if fault.Type == field.ErrorTypeTypeInvalid {
		fault.Detail, _, _ = strings.Cut(fault.Detail, ":")
	}
}

// blocks reports whether an API server evaluates no rules after an error.
func blocks(fault *field.Error) bool {
	return slices.Contains([]field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
		field.ErrorTypeTypeInvalid,
	}, fault.Type)
}
