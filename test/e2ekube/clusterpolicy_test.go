//go:build e2e

package e2ekube_test

import (
	"io/fs"
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/pkg/apis/clusterpolicy"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/source"
	"github.com/netloom/netloom/test/e2e/ovnlab"
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
			ovnlab.Eventually(w.t, patience, "the server has "+r.Kind, func() bool {
				_, err := w.kube.Objects().Resource(r.GroupVersionResource()).List(w.t.Context(), metav1.ListOptions{})
				return err == nil
			})
		}
	}
}

// awaitClusterPolicies waits until each cluster-wide policy reports that its present generation is accepted and enforced.
func (w *world) awaitClusterPolicies() {
	w.t.Helper()
	for _, r := range source.Resources() {
		if !object.IsClusterPolicy(r.Kind) {
			continue
		}
		client := w.kube.Objects().Resource(r.GroupVersionResource())
		ovnlab.Eventually(w.t, patience, "every "+r.Kind+" is enforced", func() bool {
			list, err := client.List(w.t.Context(), metav1.ListOptions{})
			return err == nil && len(list.Items) == 1 && isEnforced(&list.Items[0])
		})
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
