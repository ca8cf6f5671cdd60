package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/object"
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

func TestLoadState(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "all.yaml")
	require.NoError(t, os.WriteFile(file, []byte(offlineManifests), 0o600))
	for _, tc := range []struct {
		name  string
		opts  daemon.Offline
		place object.Place
	}{
		{"a directory", daemon.Offline{Path: dir}, object.Place{Path: file, Document: 2, Line: 13}},
		{"a file", daemon.Offline{Path: file}, object.Place{Path: file, Document: 2, Line: 13}},
		{
			"a stream",
			daemon.Offline{Path: "-", Stdin: strings.NewReader(offlineManifests)},
			object.Place{Path: "stdin", Document: 2, Line: 13},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			state, err := daemon.LoadState(tc.opts)
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
		_, err := daemon.LoadState(daemon.Offline{Path: path})
		require.Error(t, err)
	}
}
