package answerstest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/translator"
)

// StateOf is the state that objects make.
func StateOf(t testing.TB, objects []runtime.Object) world.State {
	t.Helper()
	tr := translator.New(translator.Options{})
	var state world.State
	for _, o := range objects {
		require.NoError(t, tr.Put(o))
		state.Objects.Add(o)
	}
	state.Snapshot, state.View = tr.Snapshot(), tr.View()
	state.Problems = tr.Problems()
	return state
}

// ObjectsOf reads manifests.
func ObjectsOf(t testing.TB, manifests string) []runtime.Object {
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

// Examples is the state of the example manifests.
func Examples(t testing.TB) world.State {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.yaml", "*/*.yaml"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", "examples", pattern))
		require.NoError(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			all = append(all, string(text))
		}
	}
	return StateOf(t, ObjectsOf(t, strings.Join(all, "\n---\n")))
}
