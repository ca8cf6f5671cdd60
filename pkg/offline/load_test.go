package offline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/offline"
)

const offlineManifests = `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
status: {podIPs: [{ip: 10.0.0.1}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: shop}
spec:
  podSelector: {}
  ingress:
  - ports:
    - port: 99999
`

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "all.yaml")
	require.NoError(t, os.WriteFile(file, []byte(offlineManifests), 0o600))
	for _, tc := range []struct {
		name  string
		opts  offline.Manifests
		place object.Place
	}{
		{"a directory", offline.Manifests{Paths: []string{dir}}, object.Place{Path: file, Document: 2, Line: 13}},
		{"a file", offline.Manifests{Paths: []string{file}}, object.Place{Path: file, Document: 2, Line: 13}},
		{
			"a stream",
			offline.Manifests{Paths: []string{"-"}, Stdin: strings.NewReader(offlineManifests)},
			object.Place{Path: "stdin", Document: 2, Line: 13},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			state, err := offline.Load(tc.opts)
			require.NoError(t, err)
			require.Len(t, state.Objects.Pods, 1)
			require.Len(t, state.Objects.Policies, 1, "the stand-in of the faulty one")
			require.Equal(t, 1, state.View.EndpointCount())
			require.Equal(t, 1, state.Snapshot.PolicyCount())
			require.Len(t, state.Problems, 1)
			p := state.Problems[0]
			require.Equal(t, tc.place, p.Place)
			require.Equal(t, "NetworkPolicy/shop/web", p.Ref.Path())
			require.Equal(t, "spec.ingress[0].ports[0].port", p.Field)
			require.Contains(t, p.Message, "99999")
		})
	}
	for _, path := range []string{"", filepath.Join(dir, "none")} {
		_, err := offline.Load(offline.Manifests{Paths: []string{path}})
		require.Error(t, err)
	}
}

func TestLongFilesAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "all.yaml")
	require.NoError(t, os.WriteFile(file, []byte(offlineManifests), 0o600))
	limit := int64(len(offlineManifests)) - 1
	_, err := offline.Load(offline.Manifests{Paths: []string{file}, MaxFile: limit})
	require.EqualError(t, err, fmt.Sprintf("read manifests: %s: the file has %d bytes, the limit is %d", file, limit+1, limit))
	_, err = offline.Load(offline.Manifests{Paths: []string{"-"}, Stdin: strings.NewReader(offlineManifests), MaxFile: limit})
	require.EqualError(t, err, fmt.Sprintf("read manifests: stdin: larger than the limit of %d bytes", limit))
	_, err = offline.Load(offline.Manifests{Paths: []string{file}, MaxFile: limit + 1})
	require.NoError(t, err)
}
