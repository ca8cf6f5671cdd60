package v1alpha1_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

// scheme knows the kinds of this package and nothing else.
func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(s))
	return s
}

// samples returns the text of upstream's samples by their files.
func samples(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/samples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	out := map[string][]byte{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		out[filepath.Base(f)] = text
	}
	return out
}

// decode is a sample as an object of its kind. Unknown and repeated fields are errors.
func decode(t *testing.T, s *runtime.Scheme, text []byte) runtime.Object {
	t.Helper()
	strict := serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDeserializer()
	o, _, err := strict.Decode(text, nil, nil)
	require.NoError(t, err)
	return o
}

func TestSamplesDecodeStrictly(t *testing.T) {
	s := scheme(t)
	seen := map[string]bool{}
	for name, text := range samples(t) {
		t.Run(name, func(t *testing.T) {
			o := decode(t, s, text)
			seen[o.GetObjectKind().GroupVersionKind().Kind] = true
			holds(t, want(t, text), got(t, o), "")
		})
	}
	for _, r := range v1alpha1.Resources() {
		require.Contains(t, seen, r.Kind)
	}
}

func TestUnknownFieldsAreErrors(t *testing.T) {
	strict := serializer.NewCodecFactory(scheme(t), serializer.EnableStrict).UniversalDeserializer()
	_, _, err := strict.Decode([]byte(`{"apiVersion":"batch.sdewan.akraino.org/v1alpha1","kind":"FirewallZone","spec":{"extra_dest":"x"}}`),
		nil, nil)
	require.ErrorContains(t, err, `unknown field "spec.extra_dest"`)
}

func TestWordsOfTheDesignDocumentAreRead(t *testing.T) {
	o, ok := decode(t, scheme(t), samples(t)["mwan3policy-designed.yaml"]).(*v1alpha1.Mwan3Policy)
	require.True(t, ok)
	require.Equal(t, "cnf-1", o.Labels[v1alpha1.LabelPurpose])
	require.Equal(t, []v1alpha1.Mwan3Member{
		{Network: "ovn-net1", Metric: 2, Weight: 2}, {Network: "ovn-net2", Metric: 3, Weight: 3},
	}, o.Spec.Members)
	require.Equal(t, "2", o.Status.AppliedVersion)
	require.True(t, o.Status.InSync)
	require.Equal(t, "2020-03-29T04:21:48Z", o.Status.AppliedTime.UTC().Format(time.RFC3339))
}

// want is the text of a sample as it stands.
func want(t *testing.T, text []byte) any {
	t.Helper()
	var out any
	require.NoError(t, yaml.Unmarshal(text, &out))
	return out
}

// got is an object as it would be sent.
func got(t *testing.T, o runtime.Object) any {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	var out any
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// holds asks that every value of want is in got, at the same place. Empty values may be missing.
func holds(t *testing.T, want, got any, path string) {
	t.Helper()
	switch want := want.(type) {
	case nil:
	case map[string]any:
		m, ok := got.(map[string]any)
		require.True(t, ok, path)
		for k, v := range want {
			if v != nil && v != "" {
				holds(t, v, m[k], path+"."+k)
			}
		}
	case []any:
		l, ok := got.([]any)
		require.True(t, ok, path)
		require.Len(t, l, len(want), path)
		for i := range want {
			holds(t, want[i], l[i], path)
		}
	default:
		require.Equal(t, want, got, path)
	}
}
