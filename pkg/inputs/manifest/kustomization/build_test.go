package kustomization_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/manifest/kustomization"
)

// files writes files below a new directory.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range content {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

const namespaced = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"

func TestBuild(t *testing.T) {
	root := files(t, map[string]string{
		"base/kustomization.yaml": "resources: [settings.yaml]\n",
		"base/settings.yaml":      namespaced,
		"prod/kustomization.yml":  "resources: [../base]\nnamespace: prod\nnamePrefix: eu-\ncommonAnnotations: {docs: https://example.org}\n",
	})
	text, err := kustomization.Build(filepath.Join(root, "prod"))
	require.NoError(t, err)
	require.Contains(t, string(text), "name: eu-settings\n  namespace: prod\n")
}

func TestNothingRemoteIsRead(t *testing.T) {
	for _, field := range []string{
		"resources: [%s]", "bases: [%s]", "components: [%s]", "crds: [%s]", "configurations: [%s]", "generators: [%s]", "transformers: [%s]",
		"validators: [%s]", "patchesStrategicMerge: [%s]", "openapi: {path: %s}", "patches: [{path: %s}]", "patchesJson6902: [{path: %s}]",
		"replacements: [{path: %s}]", "configMapGenerator: [{name: a, files: [\"k=%s\"]}]", "secretGenerator: [{name: a, envs: [%s]}]",
		"configMapGenerator: [{name: a, env: %s}]",
	} {
		for _, address := range []string{
			"https://example.org/base.yaml", "HTTP://example.org/base.yaml", "git@example.org:a/b", "github.com/a/b", "git::https://a/b", "gh:a/b",
			"ssh://git@example.org/a", "file:///etc", "https://github.com/a/b//c",
		} {
			root := files(t, map[string]string{
				"over/kustomization.yaml": "resources: [../base]\n", "base/kustomization.yaml": fmt.Sprintf(field, address) + "\n",
			})
			_, err := kustomization.Build(filepath.Join(root, "over"))
			require.ErrorContains(t, err, "remote bases are not read", "%s with %s", field, address)
		}
	}
	for name, text := range map[string]string{
		"a file":  "transformers: [plugin.yaml]\n",
		"in line": "generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  files: [\"https://example.org/x\"]\n",
	} {
		root := files(t, map[string]string{
			"kustomization.yaml": text,
			"plugin.yaml":        "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: a}\npath: https://example.org/x\n",
		})
		_, err := kustomization.Build(root)
		require.ErrorContains(t, err, "remote bases are not read", name)
	}
}

func TestKustomizationsAreBounded(t *testing.T) {
	content := map[string]string{}
	for i := range 12 { // every one builds on the next, twice
		content[fmt.Sprintf("k%d/kustomization.yaml", i)] = fmt.Sprintf("resources: [../k%d, ../k%d/.]\n", i+1, i+1)
	}
	content["k12/kustomization.yaml"] = "resources: [a.yaml]\n"
	content["k12/a.yaml"] = namespaced
	_, err := kustomization.Build(filepath.Join(files(t, content), "k0"))
	require.ErrorContains(t, err, "builds on more than 1000 others")

	_, err = kustomization.Build(files(t, map[string]string{"kustomization.yaml": "# " + strings.Repeat("x", 1<<20)}))
	require.ErrorContains(t, err, "expected a file of at most")
	_, err = kustomization.Build(files(t, map[string]string{"kustomization.yaml": "resources: [../" + "x]\n"}))
	require.ErrorContains(t, err, "build the kustomization")
	_, err = kustomization.Build(t.TempDir())
	require.ErrorContains(t, err, "no kustomization.yaml found")
}
