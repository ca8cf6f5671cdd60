package query_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/query"
)

func TestCompareTellsFamiliesApartWhereTheyDiffer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "all.yaml")
	require.NoError(t, os.WriteFile(file, []byte(dualPods), 0o600))
	before, err := daemon.LoadState(daemon.Offline{Path: file})
	require.NoError(t, err)
	changed := filepath.Join(t.TempDir(), "changed.yaml")
	require.NoError(t, os.WriteFile(changed, []byte(`
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: b, namespace: shop}
spec:
  podSelector: {matchLabels: {app: b}}
  ingress: [{from: [{podSelector: {}}]}]
`), 0o600))
	after, err := daemon.LoadState(daemon.Offline{Path: file, Over: []string{changed}})
	require.NoError(t, err)
	require.Equal(t, query.Impact{Pods: 2, Changes: []query.Effect{
		{
			From: query.Group{Pods: []string{"shop/a"}}, To: query.Group{Pods: []string{"shop/b"}},
			Opened: "everything", Family: "IPv6",
		},
		{
			From:   query.Group{Outside: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
			To:     query.Group{Pods: []string{"shop/b"}},
			Closed: "everything", Family: "IPv4",
		},
	}}, query.Compare(before, after))
}
