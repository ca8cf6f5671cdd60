package manifest

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

// TestRepository reads a directory with all that repositories have besides objects.
func TestRepository(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"values.yaml":                  "image: {tag: v1}\nreplicas: 2\n",
		"ci.yml":                       "on: [push]\njobs: {build: {steps: []}}\n",
		"package.json":                 `{"name": "web", "version": "1.0.0"}`,
		"tsconfig.json":                "{\n  // how it is built\n  \"strict\": true,\n}",
		"list.yaml":                    "- op: replace\n  path: /spec/replicas\n  value: 3\n",
		"text.yaml":                    "nothing but words\n",
		"twice.yaml":                   "a: 1\na: 2\n",
		"drone.yaml":                   "kind: pipeline\nsteps: []\n",
		"chart/Chart.yaml":             "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"overlay/kustomization.yml":    "resources: [object.yaml]\npatches: [{path: patch.yaml}, {path: object.yaml}]\npatchesStrategicMerge: [old.yaml, \"kind: X\\n\"]\nconfigMapGenerator: [{files: [settings=other/config.yaml]}]\n",
		"overlay/object.yaml":          "apiVersion: v1\nkind: Namespace\nmetadata: {name: overlay}\n",
		"overlay/patch.yaml":           "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\nspec: {egress: []}\n",
		"overlay/old.yaml":             "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 5}\n",
		"overlay/other/config.yaml":    "apiVersion: v1\nkind: Config\nmetadata: {}\n",
		"component/kustomization.yaml": "kind: Component\n",
		"mistakes/no-kind.yaml":        "apiVersion: networking.k8s.io/v1\nmetadata: {name: a}\n",
		"mistakes/no-type.yaml":        "metadata: {name: a}\nspec: {podSelector: {}}\n",
		"mistakes/list.yaml":           "- apiVersion: v1\n  kind: Pod\n",
		"mistakes/template.yaml":       "apiVersion: v1\nkind: Pod\nmetadata: {{ .Values.metadata }\n",
		"mixed.yaml":                   "replicas: 1\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: mixed}\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	d := LoadAll([]string{dir}, nil, Options{Workloads: true, Repository: true}, quiet)
	var found, others []string
	for _, p := range d.Problems() {
		rel, err := filepath.Rel(dir, p.Place.Path)
		require.NoError(t, err)
		found = append(found, rel+": "+p.What())
	}
	for _, path := range d.Others() {
		rel, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		others = append(others, rel)
	}
	require.Equal(t, []string{
		"mistakes/list.yaml: expected a mapping, found a list",
		"mistakes/no-kind.yaml: kind: Required value",
		"mistakes/no-type.yaml: kind: Required value",
		"mistakes/template.yaml: line 3: did not find expected ',' or '}'",
	}, found)
	require.Equal(t, []string{
		"chart/Chart.yaml", "ci.yml", "drone.yaml", "list.yaml", "mixed.yaml", "overlay/old.yaml", "overlay/other/config.yaml", "overlay/patch.yaml",
		"package.json", "text.yaml", "tsconfig.json", "twice.yaml", "values.yaml",
	}, others)
	require.Equal(t, map[string]int{"Kustomization": 2}, d.Ignored())
	require.Contains(t, d.Refs(), object.Ref{Kind: object.KindNamespace, Name: "overlay"})
	strict := LoadAll([]string{dir}, nil, Options{Workloads: true}, quiet)
	require.Greater(t, len(strict.Problems()), len(found)+len(others)-5)
	require.Empty(t, strict.Others())
}

// TestGeneratedNames reads objects that a server names when they are created.
func TestGeneratedNames(t *testing.T) {
	const file = `
apiVersion: v1
kind: Pod
metadata: {generateName: web-, namespace: shop, labels: {app: web}}
spec: {containers: [{name: c, image: IMAGE}]}
---
apiVersion: v1
kind: Pod
metadata: {generateName: web-, namespace: shop, labels: {app: web}}
---
apiVersion: batch/v1
kind: Job
metadata: {generateName: setup-, namespace: shop}
spec: {template: {metadata: {labels: {app: setup}}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {generateName: deny-}
spec: {podSelector: {}}
`
	m := parseManifest("a.yaml", []byte(file), Options{Workloads: true})
	require.Empty(t, m.faults)
	require.Len(t, m.entries, 3)
	for i, want := range []string{`^web-\w{5}$`, `^web-\w{5}$`, `^deny-\w{5}$`} {
		require.Regexp(t, want, m.entries[i].ref.Name)
		require.Equal(t, m.entries[i].ref.Name, m.entries[i].object.GetName())
	}
	require.NotEqual(t, m.entries[0].ref, m.entries[1].ref)
	require.Len(t, m.workloads, 1)
	require.Regexp(t, `^setup-\w{5}$`, m.workloads[0].Ref.Name)
	again := parseManifest("b.yaml", []byte(file+"# changed\n"), Options{Workloads: true})
	require.Equal(t, m.entries[1].ref, again.entries[1].ref, "each reading gives the same names")
	server := parseManifest("a.yaml", []byte(file), Options{})
	require.Len(t, server.faults, 3, "a directory that is kept in sync has no such objects")
}

// TestWhatResemblesAnObject has values that begin like an object, and objects that do not.
func TestWhatResemblesAnObject(t *testing.T) {
	for _, tc := range []struct {
		name, raw string
		want      bool
	}{
		{"an object", `{"apiVersion":"v1","kind":"Namespace"}`, true},
		{"a field before the kind", `{"apiVersion":"v1","data":{},"kind":"ConfigMap"}`, true},
		{"spaces", "\n { \"kind\": \"Namespace\", \"apiVersion\": \"v1\" }", true},
		{"a type that is no text", `{"apiVersion":1,"kind":2}`, true},
		{"a version alone", `{"apiVersion":"v1","kinds":["a"]}`, false},
		{"the text of a kind in a version", `{"apiVersion":"v1\",\"kind\":\"x"}`, false},
		{"a kind within another field", `{"apiVersion":"v1","image":{"kind":"a","metadata":"b"}}`, false},
		{"a list of objects", ` [1, {"apiVersion":"v1","kind":"Namespace"}]`, true},
		{"a list of values", `[1, {"kind":"a"}]`, false},
		{"a text", `"apiVersion"`, false},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, resembles(json.RawMessage(tc.raw))) })
	}
}
