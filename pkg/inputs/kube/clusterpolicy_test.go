package kube

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	policyv1alpha2 "sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/object"
)

var (
	lockdown         = object.Ref{Kind: object.KindClusterNetworkPolicy, Name: "lockdown"}
	clusterPolicyGVR = schema.GroupVersionResource{Group: policyv1alpha2.GroupName, Version: "v1alpha2", Resource: "clusternetworkpolicies"}
)

// lockdownPolicy is a ClusterNetworkPolicy as an API delivers it.
func lockdownPolicy(generation int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy.networking.k8s.io/v1alpha2", "kind": object.KindClusterNetworkPolicy,
		"metadata": map[string]any{"name": "lockdown", "resourceVersion": "1", "generation": generation, "uid": "u"},
		"spec": map[string]any{
			"tier": "Admin", "priority": int64(1), "subject": map[string]any{"namespaces": map[string]any{}},
		},
	}}
}

// clusterPolicyAPI is an API with every kind that an API need not have, and a ClusterNetworkPolicy.
func clusterPolicyAPI(t *testing.T) *dynamicfake.FakeDynamicClient {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{}
	for _, r := range source.Resources() {
		if r.Custom && !r.SDWAN {
			kinds[r.GroupVersionResource()] = r.Kind + "List"
		}
	}
	require.Len(t, kinds, 4)
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	require.NoError(t, client.Tracker().Create(clusterPolicyGVR, lockdownPolicy(1), ""))
	return client
}

func TestClusterWidePoliciesOfACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := clusterPolicyAPI(t)
		client := kubefake.NewClientset()
		client.Resources = defined("create", "list", "watch")
		k := New(client, Options{ClusterPolicies: api}, quiet())
		sourcetest.Run(t, k)
		synctest.Wait()
		require.True(t, k.Synced())
		require.Equal(t, []object.Ref{lockdown}, k.Drain())
		o, ok := k.Get(lockdown)
		require.True(t, ok)
		require.Equal(t, policyv1alpha2.AdminTier, o.(*policyv1alpha2.ClusterNetworkPolicy).Spec.Tier)
		require.False(t, k.Unlisted(object.KindAdminNetworkPolicy))

		update := func(p *unstructured.Unstructured, revision string) {
			p.SetResourceVersion(revision)
			_, err := api.Resource(clusterPolicyGVR).Update(t.Context(), p, metav1.UpdateOptions{})
			require.NoError(t, err)
			synctest.Wait()
		}
		reported := lockdownPolicy(1)
		reported.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Enforced", "status": "True"}}}
		update(reported, "2")
		require.Empty(t, k.Drain(), "a status is not a change")
		update(lockdownPolicy(2), "3")
		require.Equal(t, []object.Ref{lockdown}, k.Drain(), "a new generation is one, since the status names it")
		require.NoError(t, api.Resource(clusterPolicyGVR).Delete(t.Context(), "lockdown", metav1.DeleteOptions{}))
		time.Sleep(departureGrace)
		synctest.Wait()
		require.Equal(t, []source.Change{{Ref: lockdown, Gone: source.Deleted}}, k.Changes())
	})
}

// defined are the kinds of an API that has a definition of ClusterNetworkPolicies, with what it allows.
func defined(verbs ...string) []*metav1.APIResourceList {
	return []*metav1.APIResourceList{{
		GroupVersion: "policy.networking.k8s.io/v1alpha2", APIResources: []metav1.APIResource{{Name: clusterPolicyGVR.Resource, Verbs: verbs}},
	}}
}

// TestPoliciesGoWithTheirDefinition deletes a policy in the way of an API server whose definition of the kind is removed: that is no
// deletion, whether discovery still has the kind or not, and undecided while discovery does not answer.
func TestPoliciesGoWithTheirDefinition(t *testing.T) {
	for _, tc := range []struct {
		name   string
		served []*metav1.APIResourceList
		down   bool
		want   []source.Change
	}{
		{"the definition is gone", nil, false, []source.Change{{Ref: lockdown, Gone: source.Lost}}},
		{"the definition is being removed", defined("delete", "list", "watch"), false, []source.Change{{Ref: lockdown, Gone: source.Lost}}},
		{"the API does not answer", defined("create", "list", "watch"), true, []source.Change{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, client := clusterPolicyAPI(t), kubefake.NewClientset()
				client.Resources = defined("create", "list", "watch")
				k := New(client, Options{ClusterPolicies: api}, quiet())
				sourcetest.Run(t, k)
				synctest.Wait()
				k.Drain()
				client.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
					return tc.down, nil, errors.New("connection refused")
				})
				client.Resources = tc.served
				require.NoError(t, api.Resource(clusterPolicyGVR).Delete(t.Context(), "lockdown", metav1.DeleteOptions{}))
				synctest.Wait()
				require.Empty(t, k.Changes(), "it is not decided yet")
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Equal(t, tc.want, k.Changes())
			})
		})
	}
}

// TestClusterWidePoliciesThatAnAPILacks checks that an API need not have the kinds, and that one added later is read.
func TestClusterWidePoliciesThatAnAPILacks(t *testing.T) {
	for _, tc := range []struct {
		name    string
		err     error
		served  bool // as discovery says
		absent  bool
		unknown bool // the source waits
	}{
		{"no definition", notFound(clusterPolicyGVR.GroupResource()), false, true, false},
		{"neither definition nor permission", forbidden(clusterPolicyGVR.Resource), false, true, false},
		{"a definition without permission", forbidden(clusterPolicyGVR.Resource), true, false, false},
		{"an API that is away", errors.New("connection refused"), true, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, client := clusterPolicyAPI(t), kubefake.NewClientset()
				if tc.served {
					client.Resources = append(client.Resources, &metav1.APIResourceList{
						GroupVersion: "policy.networking.k8s.io/v1alpha2", APIResources: []metav1.APIResource{{Name: clusterPolicyGVR.Resource}},
					})
				}
				no := (&refusal{}).to(&api.Fake, clusterPolicyGVR.Resource)
				no.set(tc.err)
				k := New(client, Options{ClusterPolicies: api}, quiet())
				sourcetest.Run(t, k)
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Equal(t, !tc.unknown, k.Synced())
				require.True(t, k.Unlisted(object.KindClusterNetworkPolicy))
				require.Equal(t, tc.absent, len(k.Problems()) == 0)
				require.Equal(t, !tc.absent && !tc.unknown, len(k.Unavailable()) == 1)

				no.set(nil)
				time.Sleep(time.Minute)
				synctest.Wait()
				require.True(t, k.Synced())
				require.Empty(t, k.Unavailable())
				require.Empty(t, k.Problems())
				require.False(t, k.Unlisted(object.KindClusterNetworkPolicy))
				require.Equal(t, []object.Ref{lockdown}, k.Drain())
			})
		})
	}
}

// TestClusterWidePoliciesLostLater checks that what was read stays when the definition or the permission is gone.
func TestClusterWidePoliciesLostLater(t *testing.T) {
	for _, err := range []error{notFound(clusterPolicyGVR.GroupResource()), forbidden(clusterPolicyGVR.Resource)} {
		synctest.Test(t, func(t *testing.T) {
			k := New(kubefake.NewClientset(), Options{ClusterPolicies: clusterPolicyAPI(t)}, quiet())
			sourcetest.Run(t, k)
			synctest.Wait()
			k.Drain()
			r := k.resources[object.KindClusterNetworkPolicy]
			k.failed(&r.Resource, err)
			require.True(t, k.Synced())
			require.Empty(t, k.Unavailable())
			require.Len(t, k.Problems(), 1)
			require.Equal(t, object.UnreadResource, k.Problems()[0].Unread)
			require.Empty(t, k.Drain())
			_, known := k.Get(lockdown)
			require.True(t, known)
		})
	}
}

// TestKindsThatAnAPILacksAreNoneOfItsOutage has an API away that did not have them when it last answered.
func TestKindsThatAnAPILacksAreNoneOfItsOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := clusterPolicyAPI(t)
		no := (&refusal{}).to(&api.Fake, clusterPolicyGVR.Resource)
		no.set(notFound(clusterPolicyGVR.GroupResource()))
		k := New(kubefake.NewClientset(), Options{ClusterPolicies: api}, quiet())
		sourcetest.Run(t, k)
		synctest.Wait()
		for _, err := range []error{errors.New("connection refused"), apierrors.NewInternalError(errors.New("etcd"))} {
			no.set(err)
			for range 120 {
				time.Sleep(time.Second)
				synctest.Wait()
				require.Empty(t, k.Unavailable())
				require.Empty(t, k.Problems())
				require.True(t, k.Synced())
			}
			no.set(notFound(clusterPolicyGVR.GroupResource()))
			time.Sleep(time.Minute)
		}
		no.set(forbidden(clusterPolicyGVR.Resource)) // by discovery it has none
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, k.Problems())
		no.set(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Equal(t, []object.Ref{lockdown}, k.Drain(), "it is read once there is one")
	})
}
