package web_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/serve/web"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/field"
)

// guarded is a server of two pods, a NetworkPolicy and two cluster-wide policies.
func guarded(t *testing.T) *server {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "commands", "clusterwide.yaml"))
	require.NoError(t, err)
	manifests := manifest.Load("clusterwide.yaml", text, manifest.Options{}, logrus.New())
	require.Empty(t, manifests.Problems())
	var objects []runtime.Object
	for _, ref := range manifests.Refs() {
		object, ok := manifests.Get(ref)
		require.True(t, ok)
		objects = append(objects, object)
	}
	return serve(&source{state: web.State{State: stateOf(t, objects), Number: 3, At: moment}})
}

func getJSON(t *testing.T, s *server, path string, into any) {
	t.Helper()
	w := s.get(t, "/api/v1/"+path)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), into))
}

func TestClusterWidePoliciesAreListedInTheirOrder(t *testing.T) {
	var got struct{ Policies []web.PolicyLine }
	getJSON(t, guarded(t), "policies", &got)
	twenty, last := uint16(20), uint16(1001)
	require.Equal(t, []web.PolicyLine{
		{
			Kind: "ClusterNetworkPolicy", Name: "lockdown", Tier: "admin", Priority: &twenty, Directions: []string{"egress"}, Pods: 2, Rules: 3,
		},
		{
			Kind: "BaselineAdminNetworkPolicy", Name: "default", Tier: "baseline", Priority: &last, Directions: []string{"ingress"}, Pods: 2, Rules: 1,
		},
		{Namespace: "shop", Name: "db", Directions: []string{"ingress"}, Pods: 1, Rules: 1},
	}, got.Policies)
	var overview web.Overview
	getJSON(t, guarded(t), "overview", &overview)
	require.Equal(t, 3, overview.Policies)
}

func TestPageOfAClusterWidePolicy(t *testing.T) {
	s := guarded(t)
	var page web.PolicyPage
	getJSON(t, s, "cluster-policies/ClusterNetworkPolicy/lockdown", &page)
	require.Equal(t, "ClusterNetworkPolicy/lockdown", page.Object)
	require.Len(t, page.Intents, 1)
	require.Equal(t, "admin", page.Intents[0].Tier)
	require.Equal(t, uint16(20), *page.Intents[0].Priority)
	var rules []string
	for _, r := range page.Intents[0].Rules {
		rules = append(rules, r.Path+" "+r.Name+" "+r.Action)
	}
	require.Equal(t, []string{"spec.egress[0] no-ssh deny", "spec.egress[1] shop-decides pass", "spec.egress[2] too-late allow"}, rules)
	require.Len(t, page.Findings, 1)
	require.Contains(t, page.Findings[0], `"too-late" never matches at present`)
	for _, path := range []string{"ClusterNetworkPolicy/default", "AdminNetworkPolicy/lockdown", "Node/n1"} {
		require.Equal(t, http.StatusNotFound, s.get(t, "/api/v1/cluster-policies/"+path).Code, path)
	}
	require.Equal(t, http.StatusOK, s.get(t, "/api/v1/cluster-policies/ClusterNetworkPolicy/lockdown/rows").Code)
}

// TestMatrixFollowsTiers asks for a port that only a cluster-wide policy denies.
func TestMatrixFollowsTiers(t *testing.T) {
	for port, want := range map[string]web.CellVerdict{"22": web.CellDenied, "81": web.CellAllowed} {
		var got web.Matrix
		getJSON(t, guarded(t), "matrix?from=shop&to=shop&fromLabels=app%3Ddb&toLabels=app%3Dweb&port="+port, &got)
		require.Len(t, got.Cells, 1, port)
		require.Equal(t, want, got.States[got.Cells[0][0]].Verdict, port)
	}
}

// TestPodsOfOtherClustersArePeersOnly asks about a pod of another cluster with the name of a local one.
func TestPodsOfOtherClustersArePeersOnly(t *testing.T) {
	pod := func(address string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0", Labels: map[string]string{"app": "db"}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}},
		}
	}
	tr := translator.New(translator.Options{Cluster: "a", ClusterSet: field.LocalByDefault})
	require.NoError(t, tr.Put(pod("10.1.0.1")))
	require.NoError(t, tr.PutOther("b", pod("10.2.0.1")))
	state := world.State{Cluster: "a", Snapshot: tr.Snapshot(), View: tr.View()}
	s := serve(&source{state: web.State{State: state, Number: 1, At: moment}})
	var overview web.Overview
	getJSON(t, s, "overview", &overview)
	require.Equal(t, 1, overview.Pods)
	require.Equal(t, []web.OtherCluster{{Name: "b", Pods: 1}}, overview.OtherClusters)
	require.Equal(t, []web.Isolation{{Namespace: "shop", Pods: 1}}, overview.Isolation)
	var matrix web.Matrix
	getJSON(t, s, "matrix", &matrix)
	require.Equal(t, 1, matrix.Rows[0].Pods)
	var why web.Why
	getJSON(t, s, "why?from=shop/db-0&to=b/shop/db-0&port=80", &why)
	require.Equal(t, probe.VerdictUnknown, why.Answers[0].Verdict)
	require.Equal(t, []string{"a", "b"}, []string{why.Answers[0].FromCluster, why.Answers[0].ToCluster})
	require.Contains(t, why.Answers[0].Flows[0].Ingress.Note, "decided in cluster b")
}
