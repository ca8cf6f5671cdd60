package deployment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Helm renders the chart in a directory for a release, as `helm template` does. Values are those of the user; the schema
// of the chart validates them.
func Helm(dir, release, namespace string, values map[string]any) ([]*unstructured.Unstructured, error) {
	files, err := renderedFiles(dir, release, namespace, values)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".yaml") {
			continue // notes for the user, and partials
		}
		found, err := parse("helm "+dir+": "+name, []byte(files[name]))
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// HelmNotes renders the notes of the chart that a user sees after the installation.
func HelmNotes(dir, release, namespace string, values map[string]any) (string, error) {
	files, err := renderedFiles(dir, release, namespace, values)
	if err != nil {
		return "", err
	}
	return files["netloom/templates/NOTES.txt"], nil
}

// renderedFiles are the templates of a chart, rendered.
func renderedFiles(dir, release, namespace string, values map[string]any) (map[string]string, error) {
	what := "helm " + dir
	chart, err := loader.LoadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	all, err := chartutil.ToRenderValues(chart, values,
		chartutil.ReleaseOptions{Name: release, Namespace: namespace, IsInstall: true, Revision: 1}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return files, nil
}
