//go:build e2e

package e2ekube_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/netloom/netloom/pkg/apis/clusterpolicy"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/await"
)

// clusterPolicyGroup is the API group of cluster-wide policies.
const clusterPolicyGroup = "policy.networking.k8s.io"

// onePolicyOfEachKind are cluster-wide policies that select no pod.
const onePolicyOfEachKind = `
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: {name: none}
spec: {tier: Admin, priority: 1, subject: {namespaces: {matchLabels: {no: such}}}}
---
apiVersion: policy.networking.k8s.io/v1alpha1
kind: AdminNetworkPolicy
metadata: {name: none}
spec: {priority: 1, subject: {namespaces: {matchLabels: {no: such}}}}
---
apiVersion: policy.networking.k8s.io/v1alpha1
kind: BaselineAdminNetworkPolicy
metadata: {name: default}
spec: {subject: {namespaces: {matchLabels: {no: such}}}}
`

// defineClusterPolicies adds the CRDs of cluster-wide policies. Those that are generated say that nobody approved them, without
// which a server does not accept them.
func (w *world) defineClusterPolicies() {
	w.t.Helper()
	files, err := fs.Glob(clusterpolicy.Definitions, "*.yaml")
	require.NoError(w.t, err)
	require.Len(w.t, files, 3)
	for _, name := range files {
		text, err := fs.ReadFile(clusterpolicy.Definitions, name)
		require.NoError(w.t, err)
		definition := strings.Replace(string(text), "    controller-gen.kubebuilder.io/version:",
			"    api-approved.kubernetes.io: unapproved, for tests\n    controller-gen.kubebuilder.io/version:", 1)
		w.kube.Apply(definition)
	}
	for _, r := range source.Resources() {
		if object.IsClusterPolicy(r.Kind) {
			await.True(w.t, func() bool {
				_, err := w.kube.Objects().Resource(r.GroupVersionResource()).List(w.t.Context(), metav1.ListOptions{})
				return err == nil
			}, "%s", "the server has "+r.Kind)
		}
	}
}

// lockdown denies connections to the database of a shop to everybody, whatever NetworkPolicies allow.
const lockdown = `
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: {name: lockdown}
spec:
  tier: Admin
  priority: 10
  subject: {pods: {namespaceSelector: {matchLabels: {team: retail}}, podSelector: {matchLabels: {app: db}}}}
  ingress:
  - {name: no-sql, action: Deny, from: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {number: 5432}}}]}
`

// TestClusterPoliciesAreDefinedLater starts netloom in a cluster without the kinds of cluster-wide policies. Once they are defined,
// policies are enforced without a restart, beside NetworkPolicies.
func TestClusterPoliciesAreDefinedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.peopled()
	w.kube.Apply(policies)
	w.converge()
	require.True(t, w.connects(api, db, 5432))

	w.defineClusterPolicies()
	w.kube.Apply(lockdown)
	await.True(t, func() bool {
		w.netloom.Running()
		return !w.connects(api, db, 5432)
	}, "the policy is enforced")
	require.True(t, w.connects(web, api, 80), "other pods keep what they are allowed")
	require.True(t, w.connects(prober, db, 80), "and so do other ports")
	client := w.kube.Objects().Resource(schema.GroupVersionResource{Group: clusterPolicyGroup, Version: "v1alpha2", Resource: "clusternetworkpolicies"})
	require.NoError(t, client.Delete(t.Context(), "lockdown", metav1.DeleteOptions{}))
	w.converge()
	require.True(t, w.connects(api, db, 5432))
}

// awaitClusterPolicies waits until each cluster-wide policy reports that its present generation is accepted and enforced.
func (w *world) awaitClusterPolicies() {
	w.t.Helper()
	for _, r := range source.Resources() {
		if !object.IsClusterPolicy(r.Kind) {
			continue
		}
		client := w.kube.Objects().Resource(r.GroupVersionResource())
		await.True(w.t, func() bool {
			list, err := client.List(w.t.Context(), metav1.ListOptions{})
			return err == nil && len(list.Items) == 1 && isEnforced(&list.Items[0])
		}, "%s", "every "+r.Kind+" is enforced")
	}
}

// isEnforced reports whether the conditions of a cluster-wide policy are true for its present generation.
func isEnforced(u *unstructured.Unstructured) bool {
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	good := 0
	for _, c := range all {
		c, _ := c.(map[string]any)
		if (c["type"] == "Accepted" || c["type"] == "Enforced") && c["status"] == "True" && c["observedGeneration"] == u.GetGeneration() {
			good++
		}
	}
	return good == 2
}
