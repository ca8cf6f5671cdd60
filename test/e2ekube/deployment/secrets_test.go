package deployment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRecipeForSecretsOfSomeNamespaces renders the overlay that the README shows, and compares it with the chart.
func TestRecipeForSecretsOfSomeNamespaces(t *testing.T) {
	readme, err := os.ReadFile("../../../deploy/README.md")
	require.NoError(t, err)
	_, recipe, found := strings.Cut(string(readme), "### Secrets of some namespaces\n")
	require.True(t, found)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	from, err := filepath.Abs(kustomizeDir)
	require.NoError(t, err)
	from, err = filepath.Rel(dir, from)
	require.NoError(t, err)
	for _, file := range []string{"kustomization.yaml", "secrets-edge.yaml"} {
		_, text, found := strings.Cut(recipe, "```yaml\n# "+file+"\n")
		require.True(t, found, file)
		text, _, found = strings.Cut(text, "```")
		require.True(t, found, file)
		text = strings.ReplaceAll(text, "github.com/netloom/netloom/deploy/kustomize", from)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	overlay, err := Kustomize(dir)
	require.NoError(t, err)
	values := map[string]any{"config": map[string]any{"sdewan": true}, "sdewan": map[string]any{"secretNamespaces": []any{"edge"}}}
	objects, err := Helm(chart, "netloom", "netloom-system", values)
	require.NoError(t, err)
	for _, all := range [][]*unstructured.Unstructured{overlay, objects} {
		require.NotNil(t, Find(all, "ClusterRole", "netloom-sdewan"))
		require.Equal(t, []string{"Role edge/netloom-sdewan-secrets"}, readersOfSecrets(t, all))
		require.Equal(t, Find(objects, "Role", "netloom-sdewan-secrets").Object["rules"], Find(all, "Role", "netloom-sdewan-secrets").Object["rules"])
		require.Nil(t, Find(all, "ClusterRoleBinding", "netloom-sdewan-secrets"))
		binding := Find(all, "RoleBinding", "netloom-sdewan-secrets")
		require.Equal(t, "edge", binding.GetNamespace())
		require.Equal(t, map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "netloom-sdewan-secrets"}, binding.Object["roleRef"])
		require.Equal(t, []any{map[string]any{"kind": "ServiceAccount", "name": "netloom", "namespace": "netloom-system"}}, binding.Object["subjects"])
	}
}

// TestSecretsOfNamespaces lists who may read Secrets by the values of the chart.
func TestSecretsOfNamespaces(t *testing.T) {
	for name, tc := range map[string]struct {
		sdewan     any
		namespaces []any
		want       []string
	}{
		"everywhere":             {true, nil, []string{"ClusterRole /netloom-sdewan-secrets"}},
		"in one":                 {"true", []any{"edge"}, []string{"Role edge/netloom-sdewan-secrets"}},
		"in several":             {true, []any{"edge", "7"}, []string{"Role edge/netloom-sdewan-secrets", "Role 7/netloom-sdewan-secrets"}},
		"nowhere without SD-WAN": {false, []any{"edge"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]any{"config": map[string]any{"ovn-nb": "tcp:127.0.0.1:6641", "ovn-port-names": "ovn-kubernetes", "sdewan": tc.sdewan}}
			if tc.namespaces != nil {
				values["sdewan"] = map[string]any{"secretNamespaces": tc.namespaces}
			}
			objects, err := Helm(chart, "netloom", "netloom-system", values)
			require.NoError(t, err)
			require.Equal(t, tc.want, readersOfSecrets(t, objects))
		})
	}
	for name, namespaces := range map[string]any{
		"a text": "edge", "no name": []any{""}, "a pattern": []any{"*"}, "a capital": []any{"Edge"}, "the same twice": []any{"edge", "edge"},
	} {
		values := map[string]any{"config": map[string]any{"sdewan": true}, "sdewan": map[string]any{"secretNamespaces": namespaces}}
		_, err := Helm(chart, "netloom", "netloom-system", values)
		require.ErrorContains(t, err, "secretNamespaces", name)
	}
}

// readersOfSecrets are the roles that may get Secrets, and nothing else of them.
func readersOfSecrets(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	var all []string
	for _, o := range objects {
		rules, _, err := unstructured.NestedSlice(o.Object, "rules")
		require.NoError(t, err)
		for _, r := range rules {
			rule, ok := r.(map[string]any)
			require.True(t, ok)
			if resources, _, _ := unstructured.NestedStringSlice(rule, "resources"); len(resources) == 1 && resources[0] == "secrets" {
				require.Equal(t, []any{"get"}, rule["verbs"])
				all = append(all, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
			}
		}
	}
	return all
}
