package translator_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator"
)

// TestSamples translates each of upstream's samples alone, and compares with testdata/samples.txt.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../pkg/apis/sdewan/v1alpha1/testdata/samples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var b strings.Builder
	for _, f := range files {
		b.WriteString("# " + filepath.Base(f) + "\n" + translate(t, load(t, f)))
	}
	const want = "testdata/samples.txt"
	if *update {
		require.NoError(t, os.WriteFile(want, []byte(b.String()), 0o600))
	}
	text, err := os.ReadFile(want)
	require.NoError(t, err)
	require.Equal(t, string(text), b.String(), "rewrite with -update")
}

// TestTheRegistryListsWhatIntentsReferTo compares the names in the intents of each sample with the references that the
// registry of kinds gives for it: alone in the translator, a sample refers to nothing but names.
func TestTheRegistryListsWhatIntentsReferTo(t *testing.T) {
	files, err := filepath.Glob("../pkg/apis/sdewan/v1alpha1/testdata/samples/*.yaml")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, f := range files {
		for _, o := range load(t, f) {
			r, _, ok := v1alpha1.ResourceOf(o)
			require.True(t, ok)
			want := []string{}
			for _, ref := range v1alpha1.ReferencesOf(o) {
				require.Equal(t, r.RefersTo, ref.Kind)
				want = append(want, ref.Name)
			}
			tr := translator.New(translator.Options{})
			require.NoError(t, tr.Put(o))
			for e := range tr.Snapshot().DeviceIntents() {
				require.ElementsMatch(t, want, namesIn(reflect.ValueOf(e.Spec)), f)
				seen[r.Kind] = seen[r.Kind] || len(want) > 0
			}
		}
	}
	for _, r := range v1alpha1.Resources() {
		require.Equal(t, r.RefersTo != "", seen[r.Kind], r.Kind)
		to, ok := v1alpha1.ResourceOfKind(r.RefersTo)
		require.Equal(t, r.RefersTo != "", ok && to.Referenced, r.Kind)
	}
}

// namesIn lists the names in all references within v.
func namesIn(v reflect.Value) []string {
	var names []string
	if k := v.Kind(); k == reflect.Pointer || k == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		return namesIn(v.Elem())
	}
	if ref, ok := v.Interface().(intent.DeviceRef); ok && ref.Name != "" {
		return []string{ref.Name}
	}
	for i := 0; v.Kind() == reflect.Slice && i < v.Len(); i++ {
		names = append(names, namesIn(v.Index(i))...)
	}
	for i := 0; v.Kind() == reflect.Struct && i < v.NumField(); i++ {
		if v.Type().Field(i).IsExported() {
			names = append(names, namesIn(v.Field(i))...)
		}
	}
	return names
}
