package daemon_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
)

func TestACluster(t *testing.T) {
	p := newPlace(t)
	client := fake.NewClientset(pipelinetest.Namespace("shop"),
		pipelinetest.Pod("web-0", "web", "n1", "10.0.0.1"), pipelinetest.Pod("web-1", "old", "n1", "10.0.0.2"), pipelinetest.Pod("db-0", "db", "n2", "10.0.0.3"),
		pipelinetest.Policy("db", "web", "db"))
	opts := p.options()
	opts.Manifests = ""
	opts.Source = kube.New(client, kube.Options{}, testLog(t))
	r := startReady(t, opts)
	require.Contains(t, p.rows(), "addresses: 10.0.0.1\n")
	require.Contains(t, p.rows(), "ports: shop_db-0\n")
	require.GreaterOrEqual(t, r.metric("netloom_events_total"), 5.0)

	p.server.Reset()
	r.edit(func() {
		_, err := client.CoreV1().Pods("shop").Update(t.Context(), pipelinetest.Pod("web-1", "web", "n1", "10.0.0.2"), metav1.UpdateOptions{})
		require.NoError(t, err)
	})
	require.Contains(t, p.rows(), "addresses: 10.0.0.1, 10.0.0.2\n")
	require.Equal(t, 1, p.server.Transactions())
	require.NotContains(t, p.server.Stats().Ops, "ACL")

	r.edit(func() {
		_, err := client.NetworkingV1().NetworkPolicies("shop").Create(t.Context(), pipelinetest.Policy("web", "db", "web"), metav1.CreateOptions{})
		require.NoError(t, err)
	})
	require.Contains(t, p.rows(), "netloom.io/name=web")
	r.edit(func() {
		err := client.NetworkingV1().NetworkPolicies("shop").Delete(t.Context(), "db", metav1.DeleteOptions{})
		require.NoError(t, err)
	})
	require.NotContains(t, p.rows(), "netloom.io/name=db")
}

func TestManifestsOfAClusterReadAsTheCluster(t *testing.T) {
	client := fake.NewClientset(pipelinetest.Namespace("shop"),
		pipelinetest.Pod("web-0", "web", "n1", "10.0.0.1"), pipelinetest.Pod("db-0", "db", "n2", "10.0.0.3"), pipelinetest.Policy("db", "web", "db"))
	opts := daemon.Options{Source: kube.New(client, kube.Options{}, testLog(t))}
	list, err := daemon.ManifestsOnce(t.Context(), opts, testLog(t))
	require.NoError(t, err)
	state, err := offline.Load(offline.Manifests{Paths: []string{"-"}, Stdin: bytes.NewReader(list)})
	require.NoError(t, err)
	require.Empty(t, state.Problems)
	require.Len(t, state.Objects.Pods, 2)
	require.Len(t, state.Objects.Policies, 1)

	opts.Source = kube.New(client, kube.Options{}, testLog(t))
	read, err := daemon.ReadOnce(t.Context(), opts, testLog(t))
	require.NoError(t, err)
	require.Empty(t, read.Problems)
	want := read.Snapshot
	for p := range want.Policies() {
		require.Equal(t, p, state.Snapshot.Policy(p.ID))
	}
	require.Equal(t, want.SetCount(), state.Snapshot.SetCount())
}
