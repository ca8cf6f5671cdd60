package source_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	policyv1alpha2 "sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/object"
)

func TestTrimmedJSON(t *testing.T) {
	meta := metav1.ObjectMeta{
		Name: "a", Namespace: "shop", UID: "u", ResourceVersion: "7", Labels: map[string]string{"l": "v"},
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "netloom.io/log": "info", "other": "x"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}
	cluster := meta
	cluster.Namespace = ""
	for kind, o := range map[string]source.Object{
		object.KindPod:           sourcetest.Pod("a", "7"),
		object.KindNamespace:     &corev1.Namespace{ObjectMeta: cluster, Status: corev1.NamespaceStatus{Phase: "Active"}},
		object.KindNode:          &corev1.Node{ObjectMeta: cluster, Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{SizeBytes: 1}}}},
		object.KindService:       &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1", Selector: map[string]string{"a": "b"}}},
		object.KindEndpointSlice: &discoveryv1.EndpointSlice{ObjectMeta: meta, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.2"}}}},
		object.KindNetworkPolicy: &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{"Ingress"}}},
		object.KindClusterNetworkPolicy: &policyv1alpha2.ClusterNetworkPolicy{
			ObjectMeta: cluster, Spec: policyv1alpha2.ClusterNetworkPolicySpec{Priority: 3},
		},
	} {
		t.Run(kind, func(t *testing.T) {
			r, ok := source.ResourceOf(kind)
			require.True(t, ok)
			o.GetObjectKind().SetGroupVersionKind(r.Version.WithKind(kind))
			whole, err := json.Marshal(o)
			require.NoError(t, err)
			small, err := source.TrimJSON(r.GroupVersionResource(), whole)
			require.NoError(t, err)
			require.Less(t, len(small), len(whole))
			require.NotContains(t, string(small), "managedFields")
			read := func(raw []byte) source.Object {
				o := r.New()
				require.NoError(t, json.Unmarshal(raw, o))
				require.Equal(t, kind, o.GetObjectKind().GroupVersionKind().Kind)
				r.Trim(o)
				return o
			}
			require.Equal(t, read(whole), read(small), "what netloom uses is still there")
		})
	}
	_, err := source.TrimJSON(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, []byte("{}"))
	require.Error(t, err)
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	_, err = source.TrimJSON(pods, []byte(`{"spec":7}`))
	require.Error(t, err)
}
