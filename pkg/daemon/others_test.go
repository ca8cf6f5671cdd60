package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/daemon"
)

// otherFile is what another cluster has: it uses a name of the own cluster, too.
const otherFile = `
apiVersion: v1
kind: Namespace
metadata: {name: billing, labels: {kubernetes.io/metadata.name: billing}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {kubernetes.io/metadata.name: shop}}
---
apiVersion: v1
kind: Pod
metadata: {name: api-0, namespace: billing, labels: {app: api}}
status: {podIP: 10.245.0.5}
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, labels: {app: web}}
status: {podIP: 10.245.0.6}
`

// peerPolicy lets pods of cluster b reach the database.
const peerPolicy = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: from-b, namespace: shop}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress:
  - from:
    - namespaceSelector: {matchLabels: {netloom.io/cluster: b}}
      podSelector: {matchLabels: {app: api}}
`

// withPeer returns the options of a daemon that has cluster b beside its own, and the directory of b.
func withPeer(t *testing.T, p *place) (opts daemon.Options, other string) {
	t.Helper()
	other = t.TempDir()
	writePeer(t, other, otherFile)
	p.write(t, "peers.yaml", peerPolicy)
	opts = p.options()
	opts.Cluster, opts.Others.Clusters = "a", []daemon.Other{{Name: "b", Manifests: other}}
	return opts, other
}

func writePeer(t *testing.T, dir, content string) {
	t.Helper()
	temporary := filepath.Join(t.TempDir(), "other.yaml")
	require.NoError(t, os.WriteFile(temporary, []byte(content), 0o600))
	require.NoError(t, os.Rename(temporary, filepath.Join(dir, "other.yaml")))
}

func TestPodsOfAnotherClusterArePeers(t *testing.T) {
	p := newPlace(t)
	opts, other := withPeer(t, p)
	r := startReady(t, opts)
	require.Contains(t, p.rows(), "addresses: 10.245.0.5\n")
	require.NotContains(t, p.rows(), "10.245.0.6", "selectors that name no cluster select local pods")

	p.server.Reset()
	r.edit(func() { writePeer(t, other, strings.Replace(otherFile, "{app: web}", "{app: api}", 1)) })
	r.await("the second pod", func() bool { return strings.Contains(p.rows(), "addresses: 10.245.0.5, 10.245.0.6\n") })
	require.Equal(t, 1, p.server.Transactions())
	for table := range p.server.Stats().Ops {
		require.Equal(t, "Address_Set", table)
	}
}

func TestSelectorsMayMeanEveryCluster(t *testing.T) {
	p := newPlace(t)
	opts, _ := withPeer(t, p)
	opts.Others.Everywhere = true
	startReady(t, opts)
	require.Contains(t, p.rows(), "addresses: 10.244.0.10, 10.244.0.11, 10.245.0.6\n", "shop is one namespace in both clusters")
}

func TestARestartKeepsPodsOfAnotherCluster(t *testing.T) {
	p := newPlace(t)
	opts, _ := withPeer(t, p)
	startReady(t, opts).stop()
	p.server.Reset()
	startReady(t, opts).stop()
	require.Zero(t, p.server.Transactions())

	opts.Others.Clusters[0].Manifests = t.TempDir()
	opts.Others.Clusters[0].Name = "c"
	startReady(t, opts)
	require.NotContains(t, p.rows(), "10.245.0.5", "b has left the set")
}

func TestAnotherClusterThatIsAwayKeepsItsPods(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	opts, other := withPeer(t, p)
	r := startReady(t, opts)
	require.NoError(t, os.WriteFile(filepath.Join(other, "other.yaml"), []byte("{"), 0o600))
	r.await("a problem", func() bool { _, text := r.get("/debug/problems"); return strings.Contains(text, "cluster b: ") })
	require.Contains(t, p.rows(), "addresses: 10.245.0.5\n")
	_, ready := r.get("/readyz")
	require.Contains(t, ready, "degraded: cluster b has not been readable for ")
	require.InDelta(t, 0, r.metric("netloom_peer_up"), 0)
	require.InDelta(t, 2, r.metric("netloom_peer_pods"), 0)
}
