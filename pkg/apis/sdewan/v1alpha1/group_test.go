package v1alpha1_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

func TestSchemeKnowsEveryResource(t *testing.T) {
	s := scheme(t)
	var kinds []string
	for kind := range s.KnownTypes(v1alpha1.GroupVersion) {
		kinds = append(kinds, kind)
	}
	require.Len(t, v1alpha1.Resources(), 19)
	for _, r := range v1alpha1.Resources() {
		require.Contains(t, kinds, r.Kind)
		require.Contains(t, kinds, r.Kind+"List")
	}
}

func TestEveryKindSurvivesJSON(t *testing.T) {
	s := scheme(t)
	for _, r := range v1alpha1.Resources() {
		t.Run(r.Kind, func(t *testing.T) {
			full := filled(t, s, r.Kind)
			text, err := json.Marshal(full)
			require.NoError(t, err)
			again, err := s.New(v1alpha1.GroupVersion.WithKind(r.Kind))
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, again))
			require.Equal(t, full, again)
		})
	}
}

func TestCopiesShareNothing(t *testing.T) {
	s := scheme(t)
	for _, r := range v1alpha1.Resources() {
		t.Run(r.Kind, func(t *testing.T) {
			full := filled(t, s, r.Kind)
			before, err := json.Marshal(full)
			require.NoError(t, err)
			dup := full.DeepCopyObject()
			require.Equal(t, full, dup)
			empty(reflect.ValueOf(dup).Elem())
			after, err := json.Marshal(full)
			require.NoError(t, err)
			require.Equal(t, string(before), string(after))
		})
	}
}

// filled is an object of a kind with a value in every field of ours.
func filled(t *testing.T, s *runtime.Scheme, kind string) runtime.Object {
	t.Helper()
	o, err := s.New(v1alpha1.GroupVersion.WithKind(kind))
	require.NoError(t, err)
	v := reflect.ValueOf(o).Elem()
	fill(v.FieldByName("Spec"))
	fill(v.FieldByName("Status"))
	return o
}

// fill puts something into all of v.
func fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[metav1.Time]() {
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(1585455708, 0))))
		return
	}
	switch v.Kind() { //nolint:exhaustive // of the kinds that our types have
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k"), reflect.ValueOf("v"))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	default:
		panic("no value for " + v.Type().String())
	}
}

// empty overwrites everything that v points at, and leaves v's own fields alone.
func empty(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // of the kinds that refer to something
	case reflect.Pointer:
		if !v.IsNil() {
			empty(v.Elem())
			v.Elem().SetZero()
		}
	case reflect.Slice:
		for i := range v.Len() {
			empty(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		v.Clear()
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				empty(v.Field(i))
			}
		}
	}
}
