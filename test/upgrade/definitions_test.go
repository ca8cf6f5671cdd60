//go:build e2e

package upgrade_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/test/upgrade"
)

// TestDefinitionsFitEarlierAndLaterPrograms compares the CRDs of each version with the current ones. Those may have more fields, but not fewer,
// fields keep their types, and no new field is required: so objects of either version are valid with the CRDs of the other.
func TestDefinitionsFitEarlierAndLaterPrograms(t *testing.T) {
	compared := 0
	for _, v := range upgrade.Versions() {
		for name, old := range definitionsOf(t, v) {
			text, err := os.ReadFile(filepath.Join("..", "..", name))
			require.NoError(t, err, "%s was removed", name)
			current := definition(t, text)
			for _, of := range old.Spec.Versions {
				i := slices.IndexFunc(current.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == of.Name && v.Served })
				require.GreaterOrEqual(t, i, 0, "%s does not serve %s any more", name, of.Name)
				require.Empty(t, unfit(of.Schema.OpenAPIV3Schema, current.Spec.Versions[i].Schema.OpenAPIV3Schema, ""), "%s since %s", name, v.Name())
				compared++
			}
		}
	}
	require.Greater(t, compared, 40)
}

// definitionsOf returns the CRDs of a version by their paths.
func definitionsOf(t *testing.T, v upgrade.Version) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	git := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", filepath.Join("..", "..")}, args...)...).Output()
		require.NoError(t, err, "%v: make upgrade needs the history", args)
		return string(out)
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, name := range strings.Fields(git("ls-tree", "--name-only", "--full-tree", v.Commit, "deploy/crds/")) {
		if filepath.Ext(name) == ".yaml" {
			all[name] = definition(t, []byte(git("show", v.Commit+":"+name)))
		}
	}
	return all
}

func definition(t *testing.T, text []byte) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.Unmarshal(text, crd))
	return crd
}

// unfit lists the fields of old that current does not have, or with another type, and those that only current requires.
func unfit(old, current *apiextensionsv1.JSONSchemaProps, at string) []string {
	var faults []string
	if old.Type != current.Type {
		faults = append(faults, fmt.Sprintf("%s was of type %s and is of type %s", at, old.Type, current.Type))
	}
	for _, name := range current.Required {
		if !slices.Contains(old.Required, name) {
			faults = append(faults, at+"."+name+" was not required")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
		was := old.Properties[name]
		is, there := current.Properties[name]
		if !there {
			faults = append(faults, at+"."+name+" is gone")
			continue
		}
		faults = append(faults, unfit(&was, &is, at+"."+name)...)
	}
	if old.Items != nil && old.Items.Schema != nil && current.Items != nil && current.Items.Schema != nil {
		faults = append(faults, unfit(old.Items.Schema, current.Items.Schema, at+"[]")...)
	}
	return faults
}
