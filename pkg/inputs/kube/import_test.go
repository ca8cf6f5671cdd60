package kube

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubefake "k8s.io/client-go/kubernetes/fake"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/object"
)

// TestServiceImports reads ServiceImports of an API that has had none at first, and reports one that does not fit its type.
func TestServiceImports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := mcsv1alpha1.SchemeGroupVersion.WithResource("serviceimports")
		web := object.Ref{Kind: object.KindServiceImport, Namespace: "shop", Name: "web"}
		object := func(ips any) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": mcsv1alpha1.GroupVersion.String(), "kind": "ServiceImport",
				"metadata": map[string]any{"namespace": "shop", "name": "web", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
				"spec":     map[string]any{"type": "ClusterSetIP", "ips": ips, "ports": []any{map[string]any{"port": int64(80)}}},
			}}
		}
		api := clusterPolicyAPI(t)
		require.NoError(t, api.Tracker().Create(resource, object([]any{"10.110.0.1"}), "shop"))
		no := (&refusal{}).to(&api.Fake, resource.Resource)
		no.set(notFound(resource.GroupResource()))
		k := New(kubefake.NewClientset(), Options{ClusterPolicies: api}, quiet())
		sourcetest.Run(t, k)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.True(t, k.Synced())
		require.Empty(t, k.Problems())
		require.Empty(t, k.Unavailable())
		require.NotContains(t, k.Drain(), web)

		no.set(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []source.Change{{Ref: web}}, k.Changes())
		o, ok := k.Get(web)
		require.True(t, ok)
		read := o.(*mcsv1alpha1.ServiceImport)
		require.Equal(t, []string{"10.110.0.1"}, read.Spec.IPs)
		require.False(t, read.CreationTimestamp.IsZero())

		odd := object("10.110.0.2")
		odd.SetResourceVersion("2")
		require.NoError(t, api.Tracker().Update(resource, odd, "shop"))
		synctest.Wait()
		require.Equal(t, web, k.Problems()[0].Ref)
		o, _ = k.Get(web)
		require.Equal(t, read.Spec, o.(*mcsv1alpha1.ServiceImport).Spec, "the last known version stays")
	})
}
