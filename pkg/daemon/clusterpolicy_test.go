package daemon_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

var clusterPolicies = schema.GroupVersionResource{Group: "policy.networking.k8s.io", Version: "v1alpha2", Resource: "clusternetworkpolicies"}

// lockdown is a ClusterNetworkPolicy that denies SSH to the pods of every namespace.
func lockdown() *unstructured.Unstructured {
	everything := map[string]any{"namespaces": map[string]any{}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy.networking.k8s.io/v1alpha2", "kind": object.KindClusterNetworkPolicy,
		"metadata": map[string]any{"name": "lockdown", "uid": "u-lockdown", "generation": int64(3)},
		"spec": map[string]any{
			"tier": "Admin", "priority": int64(1), "subject": everything,
			"ingress": []any{map[string]any{
				"name": "no-ssh", "action": "Deny", "from": []any{everything},
				"protocols": []any{map[string]any{"tcp": map[string]any{"destinationPort": map[string]any{"number": int64(22)}}}},
			}},
		},
	}}
}

// clusterPolicyAPI is an API of cluster-wide policies with these objects.
func clusterPolicyAPI(t *testing.T, objects ...*unstructured.Unstructured) *dynamicfake.FakeDynamicClient {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{}
	for _, r := range source.Resources() {
		if r.Custom && !r.SDWAN {
			kinds[r.GroupVersionResource()] = r.Kind + "List"
		}
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	for _, o := range objects {
		require.NoError(t, client.Tracker().Create(clusterPolicies, o, ""))
	}
	return client
}

// TestClusterWidePoliciesWhoseDefinitionIsGone starts without the CRD that an earlier run had: what the policies denied stays
// denied and is reported, until they are back or their removal is approved.
func TestClusterWidePoliciesWhoseDefinitionIsGone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	begin := func(api dynamic.Interface) *running {
		opts := p.options()
		client := shop()
		client.Resources = []*metav1.APIResourceList{{
			GroupVersion: clusterPolicies.GroupVersion().String(), APIResources: []metav1.APIResource{{Name: clusterPolicies.Resource, Verbs: []string{"create"}}},
		}}
		opts.Manifests, opts.Source = "", kube.New(client, kube.Options{ClusterPolicies: api}, testLog(t))
		opts.Reconcile.MaxDeleteFraction = 1
		return startReady(t, opts)
	}
	r := begin(clusterPolicyAPI(t, lockdown()))
	require.Contains(t, p.rows(), "netloom.io/name=lockdown")
	r.stop()
	stood := p.rows()

	api := clusterPolicyAPI(t, lockdown())
	var defined atomic.Bool
	api.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return !defined.Load(), nil, apierrors.NewNotFound(a.GetResource().GroupResource(), "")
	})
	r = begin(api)
	require.Equal(t, stood, p.rows())
	_, body := r.get("/readyz")
	require.Contains(t, body, "1 ClusterNetworkPolicy objects are missing from the source and kept in force")
	defined.Store(true)
	r.await("the policy to be read", func() bool { _, body := r.get("/readyz"); return isWell(body) })
	require.Equal(t, stood, p.rows())
	r.edit(func() {
		require.NoError(t, api.Resource(clusterPolicies).Delete(t.Context(), "lockdown", metav1.DeleteOptions{}))
	})
	require.NotContains(t, p.rows(), "netloom.io/name=lockdown")
	r.stop()

	r = begin(clusterPolicyAPI(t)) // there is nothing to lose
	_, body = r.get("/readyz")
	require.True(t, isWell(body), body)
}

// TestReadingOnceWithoutADefinition reads a cluster without the CRDs of two kinds, as commands do that read it once: these kinds are
// not waited for, and are no problem.
func TestReadingOnceWithoutADefinition(t *testing.T) {
	api := clusterPolicyAPI(t, lockdown())
	for _, absent := range []string{"adminnetworkpolicies", "baselineadminnetworkpolicies"} {
		api.PrependReactor("list", absent, func(a clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewNotFound(a.GetResource().GroupResource(), "")
		})
	}
	opts := daemon.Options{Source: kube.New(shop(), kube.Options{ClusterPolicies: api}, testLog(t))}
	read, err := daemon.ReadOnce(t.Context(), opts, testLog(t))
	require.NoError(t, err)
	require.Empty(t, read.Problems)
	require.True(t, read.Snapshot.Tiered(), "the kind that exists is read")
}
