package query_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/answers/query"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/translator"
)

// stateOf is the state that objects make.
func stateOf(t testing.TB, objects []runtime.Object) query.State {
	t.Helper()
	tr := translator.New(translator.Options{})
	var state query.State
	for _, o := range objects {
		require.NoError(t, tr.Put(o))
		state.Objects.Add(o)
	}
	state.Snapshot, state.View = tr.Snapshot(), tr.View()
	state.Problems = tr.Problems()
	return state
}

// objectsOf reads manifests.
func objectsOf(t testing.TB, manifests string) []runtime.Object {
	t.Helper()
	source := manifest.Load("test.yaml", []byte(manifests), manifest.Options{}, logrus.New())
	require.Empty(t, source.Problems())
	var objects []runtime.Object
	for _, ref := range source.Refs() {
		o, ok := source.Get(ref)
		require.True(t, ok)
		objects = append(objects, o)
	}
	return objects
}

// examples is the state of the example manifests.
func examples(t testing.TB) query.State {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.yaml", "*/*.yaml"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "examples", pattern))
		require.NoError(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			all = append(all, string(text))
		}
	}
	return stateOf(t, objectsOf(t, strings.Join(all, "\n---\n")))
}
