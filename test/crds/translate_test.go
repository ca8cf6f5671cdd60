package crds_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/translator"
)

// translated is the translator's result for an object that no server has validated: how many intents that CNFs can be given,
// and its problems. It is false for one that cannot even be read.
func translated(t *testing.T, o map[string]any) (intents int, problems []string, readable bool) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	text, err := json.Marshal(o)
	require.NoError(t, err)
	object, _, err := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return 0, nil, false
	}
	tr := translator.New(translator.Options{})
	require.NoError(t, tr.Put(object))
	for e := range tr.Snapshot().DeviceIntents() {
		if !e.Unknown {
			intents++
		}
	}
	for _, p := range tr.Problems() {
		problems = append(problems, p.Error())
	}
	return intents, problems, true
}

// TestTranslatorRefusesMistakes checks that the translator refuses what the schemas refuse: manifests in a directory have
// met no server.
func TestTranslatorRefusesMistakes(t *testing.T) {
	// What the translator cannot see, because an absent key and an empty one are the same to it.
	same := map[string]bool{
		"a rule without a key": true, "a zone without the list of networks": true, "a proposal without a key": true,
		"a site without subnet of its own": true, "no selector": true,
	}
	for _, tc := range mistakes() {
		t.Run(tc.name, func(t *testing.T) {
			intents, problems, readable := translated(t, changed(t, tc.sample, tc.spec))
			if !readable || same[tc.name] {
				require.Empty(t, problems)
				return
			}
			require.Zero(t, intents)
			require.NotEmpty(t, problems)
			field, _, _ := strings.Cut(tc.want, ":")
			if i := strings.LastIndex(field, "["); strings.Contains(tc.want, "Duplicate value") {
				field = field[:i] // it names the key
			}
			require.Contains(t, strings.Join(problems, "\n"), ": "+field, "the field is named")
		})
	}
}

// TestTranslatorTakesWhatPasses checks that the translator accepts what the schemas accept.
func TestTranslatorTakesWhatPasses(t *testing.T) {
	// Names that are not Services need DNS.
	unresolved := map[string]bool{"a hub": true, "a service by address": true, "a name with a dot at its end": true}
	for _, tc := range unusuals() {
		t.Run(tc.name, func(t *testing.T) {
			intents, problems, readable := translated(t, changed(t, tc.sample, tc.spec))
			require.True(t, readable)
			switch {
			case unresolved[tc.name]:
				require.Zero(t, intents)
				require.NotEmpty(t, problems)
			default:
				require.Equal(t, 1, intents)
				require.Empty(t, problems)
			}
		})
	}
}
