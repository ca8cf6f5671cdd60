package kube

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/object"
)

var lanZone = object.Ref{Kind: "FirewallZone", Namespace: "shop", Name: "lan"}

// listKinds are the names of lists of the SD-WAN kinds.
func listKinds() map[schema.GroupVersionResource]string {
	all := map[schema.GroupVersionResource]string{}
	for _, r := range v1alpha1.Resources() {
		all[v1alpha1.GroupVersion.WithResource(r.Plural)] = r.Kind + "List"
	}
	return all
}

func notFound(r schema.GroupResource) error { return apierrors.NewNotFound(r, "") }

// sdwanObject is an object of an SD-WAN kind as an API delivers it.
func sdwanObject(kind string, name, revision string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch.sdewan.akraino.org/v1alpha1", "kind": kind,
		"metadata": map[string]any{
			"name": name, "namespace": "shop", "resourceVersion": revision, "generation": int64(1), "uid": "u-" + name,
			"labels":      map[string]any{"sdewanPurpose": "cnf1"},
			"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"},
			"finalizers":  []any{"rule.finalizers.sdewan.akraino.org"},
			"managedFields": []any{
				map[string]any{"manager": "kubectl", "operation": "Apply"},
			},
		},
		"spec":   spec,
		"status": map[string]any{"state": "In Sync"},
	}}
}

func zone(name, revision string) *unstructured.Unstructured {
	return sdwanObject("FirewallZone", name, revision, map[string]any{"network": []any{"net1"}})
}

func TestSDWANResourcesOfACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []*unstructured.Unstructured
		for _, r := range v1alpha1.Resources() {
			all = append(all, sdwanObject(r.Kind, "lan", "1", map[string]any{}))
		}
		client := sdwanClient(t, all...)
		k := New(kubefake.NewClientset(), Options{SDWAN: client}, quiet())
		sourcetest.Run(t, k)
		synctest.Wait()
		require.True(t, k.Synced())
		require.Empty(t, k.Problems())
		var kinds []string
		for _, ref := range k.Drain() {
			kinds = append(kinds, ref.Kind)
			o, ok := k.Get(ref)
			require.True(t, ok)
			r, _, known := v1alpha1.ResourceOf(o)
			require.True(t, known)
			require.Equal(t, ref.Kind, r.Kind)
		}
		require.Len(t, kinds, len(v1alpha1.Resources()))

		got, _ := k.Get(lanZone)
		require.Equal(t, &v1alpha1.FirewallZone{
			ObjectMeta: metav1.ObjectMeta{
				Name: "lan", Namespace: "shop", ResourceVersion: "1", Generation: 1, UID: "u-lan",
				Labels: map[string]string{"sdewanPurpose": "cnf1"}, Annotations: map[string]string{"a": "b"},
				Finalizers: []string{"rule.finalizers.sdewan.akraino.org"},
			},
			Status: v1alpha1.SdewanStatus{State: "In Sync"},
		}, got)
	})
}

func TestWithoutAClientForThemSDWANKindsAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := New(kubefake.NewClientset(), Options{}, quiet())
		sourcetest.Run(t, k)
		synctest.Wait()
		require.True(t, k.Synced())
		require.Empty(t, k.Unavailable())
		require.NotContains(t, k.resources, "FirewallZone")
	})
}

func TestUpdatesOfSDWANResourcesThatMatter(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(u *unstructured.Unstructured)
		want   bool
	}{
		{"another revision", func(u *unstructured.Unstructured) { u.SetResourceVersion("2") }, false},
		{"its managed fields", func(u *unstructured.Unstructured) { u.SetManagedFields(nil) }, false},
		{"another generation", func(u *unstructured.Unstructured) { u.SetGeneration(2) }, true},
		{"on its way out", func(u *unstructured.Unstructured) {
			now := metav1.Now()
			u.SetDeletionTimestamp(&now)
		}, true},
		{"without a finalizer", func(u *unstructured.Unstructured) { u.SetFinalizers(nil) }, true},
		{"another status", func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "Idle", "status", "state")
		}, true},
		{"another spec", func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "ACCEPT", "spec", "input")
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := sdwanClient(t, zone("lan", "1"))
				k := New(kubefake.NewClientset(), Options{SDWAN: client}, quiet())
				sourcetest.Run(t, k)
				synctest.Wait()
				require.Equal(t, []object.Ref{lanZone}, k.Drain())
				changed := zone("lan", "1")
				tc.change(changed)
				gvr := v1alpha1.GroupVersion.WithResource("firewallzones")
				_, err := client.Resource(gvr).Namespace("shop").Update(t.Context(), changed, metav1.UpdateOptions{})
				require.NoError(t, err)
				synctest.Wait()
				require.Equal(t, tc.want, len(k.Drain()) == 1)
				o, _ := k.Get(lanZone)
				require.Equal(t, changed.GetResourceVersion(), o.(source.Object).GetResourceVersion(), "the newest revision is returned")
			})
		})
	}
}

// TestObjectThatDoesNotGoIntoItsType costs nothing but itself: what was known of it stays.
func TestObjectThatDoesNotGoIntoItsType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, bad := zone("lan", "1"), sdwanObject("FirewallZone", "wan", "1", map[string]any{"network": int64(7)})
		client := sdwanClient(t, good, bad)
		all := client.Resource(v1alpha1.GroupVersion.WithResource("firewallzones")).Namespace("shop")
		k := New(kubefake.NewClientset(), Options{SDWAN: client}, quiet())
		sourcetest.Run(t, k)
		synctest.Wait()
		require.True(t, k.Synced())
		wanZone := object.Ref{Kind: "FirewallZone", Namespace: "shop", Name: "wan"}
		require.Equal(t, []string{"firewallzones.batch.sdewan.akraino.org: FirewallZone/shop/wan"}, places(k))
		_, known := k.Get(wanZone)
		require.False(t, known)
		_, known = k.Get(lanZone)
		require.True(t, known)
		k.Drain()

		require.NoError(t, unstructured.SetNestedField(good.Object, "yes", "spec", "network"))
		good.SetResourceVersion("2")
		_, err := all.Update(t.Context(), good, metav1.UpdateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []string{"firewallzones.batch.sdewan.akraino.org: FirewallZone/shop/lan", "firewallzones.batch.sdewan.akraino.org: FirewallZone/shop/wan"}, places(k))
		require.Empty(t, k.Drain())
		o, _ := k.Get(lanZone)
		require.Equal(t, []string{"net1"}, o.(*v1alpha1.FirewallZone).Spec.Network)

		require.NoError(t, all.Delete(t.Context(), "lan", metav1.DeleteOptions{}))
		_, err = all.Update(t.Context(), zone("wan", "2"), metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Empty(t, k.Problems())
		require.Equal(t, []object.Ref{lanZone, wanZone}, k.Drain())
		_, known = k.Get(lanZone)
		require.False(t, known)
		_, known = k.Get(wanZone)
		require.True(t, known)
	})
}

// places says where the problems of a source are.
func places(s source.Source) []string {
	var all []string
	for _, p := range s.Problems() {
		all = append(all, p.Where())
	}
	return all
}
