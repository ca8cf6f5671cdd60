package offline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/offline"
)

// TestReportsLeaveOutTestPods has a pod of a chart, and one that Helm creates to test it.
func TestReportsLeaveOutTestPods(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chart.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
{apiVersion: v1, kind: Pod, metadata: {name: app, namespace: store}, spec: {containers: [{name: c, image: x}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: app-test, namespace: store, annotations: {helm.sh/hook: test}}, spec: {containers: [{name: c, image: x}]}}
`), 0o600))
	report, _, err := offline.LoadCreated(offline.Manifests{Paths: []string{path}})
	require.NoError(t, err)
	require.Equal(t, 1, report.View.EndpointCount())
	all, err := offline.Load(offline.Manifests{Paths: []string{path}})
	require.NoError(t, err)
	require.Equal(t, 2, all.View.EndpointCount(), "they can be asked about")
}
