//go:build e2e

package e2ekube_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/await"
)

// closings are a cluster-wide policy of each kind, which each close the free pod of a team.
const closings = `
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: {name: closing}
spec:
  tier: Admin
  priority: 1
  subject: {pods: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-0}}, podSelector: {matchLabels: {app: free}}}}
  egress: [{action: Deny, to: [{networks: [0.0.0.0/0]}]}]
---
apiVersion: policy.networking.k8s.io/v1alpha1
kind: AdminNetworkPolicy
metadata: {name: closing}
spec:
  priority: 1
  subject: {pods: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-1}}, podSelector: {matchLabels: {app: free}}}}
  egress: [{action: Deny, to: [{networks: [0.0.0.0/0]}]}]
---
apiVersion: policy.networking.k8s.io/v1alpha1
kind: BaselineAdminNetworkPolicy
metadata: {name: default}
spec:
  subject: {pods: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-2}}, podSelector: {matchLabels: {app: free}}}}
  egress: [{action: Deny, to: [{networks: [0.0.0.0/0]}]}]
`

// TestDrillDefinitions removes the definitions of cluster-wide policies, with which the API server deletes all policies, and brings them
// back. What the policies close stays closed, also over a restart, until each is back, and a policy that is deleted is not kept.
func TestDrillDefinitions(t *testing.T) {
	t.Parallel()
	d := newDrill(t, "")
	d.defineClusterPolicies()
	d.kube.Apply(closings)
	d.witness.close("by a ClusterNetworkPolicy", fromPod(0, freePod))
	d.witness.close("by an AdminNetworkPolicy", fromPod(1, freePod))
	d.witness.close("by a BaselineAdminNetworkPolicy", fromPod(2, freePod))
	d.witness.await("the cluster-wide policies are enforced", d.netloom.Running)

	began := time.Now()
	d.removeDefinitions()
	d.awaitKept(3)
	told := time.Since(began)
	d.denied(isolating(3, "free"), toPod(3, freePod))

	t.Log("netloom restarts without the definitions")
	d.end()
	d.run()
	d.awaitKept(3)
	d.denied(isolating(4, "free"), toPod(4, freePod))

	t.Log("the definitions come back, and then the policies")
	d.defineClusterPolicies()
	d.denied(isolating(5, "free"), toPod(5, freePod))
	d.awaitKept(3)
	d.kube.Apply(closings)
	d.awaitKept(0)
	reportDrill(t, d.netloom.PID(), "the definitions of cluster-wide policies are removed, and come back", "nothing", "–",
		fmt.Sprintf("after %.1f s: log, problems, `/readyz` degraded: the policies are kept, and the kinds cannot be read", told.Seconds()))

	t.Log("a policy is deleted")
	d.witness.release("by a ClusterNetworkPolicy")
	policies := schema.GroupVersionResource{Group: clusterPolicyGroup, Version: "v1alpha2", Resource: "clusternetworkpolicies"}
	require.NoError(t, d.kube.Objects().Resource(policies).Delete(t.Context(), "closing", metav1.DeleteOptions{}))
	await.True(t, func() bool { d.netloom.Running(); return d.witness.allows(fromPod(0, freePod)) }, "what it closed is open")
	require.Empty(t, d.kept().Objects)
	d.witness.check()
}

// removeDefinitions removes the definitions of cluster-wide policies, and waits until the API server has deleted every policy.
func (d *drill) removeDefinitions() {
	d.t.Helper()
	definitions := d.kube.Objects().Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, r := range source.Resources() {
		if object.IsClusterPolicy(r.Kind) {
			require.NoError(d.t, definitions.Delete(d.t.Context(), strings.ToLower(r.Plural)+"."+clusterPolicyGroup, metav1.DeleteOptions{}))
		}
	}
	for _, r := range source.Resources() {
		if object.IsClusterPolicy(r.Kind) {
			await.True(d.t, func() bool {
				_, err := d.kube.Objects().Resource(r.GroupVersionResource()).List(d.t.Context(), metav1.ListOptions{})
				return apierrors.IsNotFound(err)
			}, "%s", "the server lacks "+r.Kind)
		}
	}
}
