package deployment

import (
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// policyOf is the NetworkPolicy of netloom.
func policyOf(t *testing.T, objects []*unstructured.Unstructured) *networkingv1.NetworkPolicySpec {
	t.Helper()
	o := Find(objects, "NetworkPolicy", "netloom")
	require.NotNil(t, o)
	var p networkingv1.NetworkPolicy
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &p, true))
	return &p.Spec
}

// TestNetworkPolicyOfNetloom holds that the component and the chart say the same, that it selects the pods of netloom, and that
// nobody reaches the port of debugging.
func TestNetworkPolicyOfNetloom(t *testing.T) {
	kustomized := composed(t, "central", "network-policy")
	charted, err := Helm(chart, "netloom", "netloom-system", map[string]any{
		"config": map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}}, "networkPolicy": map[string]any{"enabled": true},
	})
	require.NoError(t, err)
	spec := policyOf(t, kustomized)
	require.Equal(t, spec, policyOf(t, charted))
	pod := podOf(t, Find(kustomized, "Deployment", "netloom"))
	labels, _, err := unstructured.NestedStringMap(Find(kustomized, "Deployment", "netloom").Object, "spec", "template", "metadata", "labels")
	require.NoError(t, err)
	for k, v := range spec.PodSelector.MatchLabels {
		require.Equal(t, v, labels[k])
	}
	open := map[int32]bool{}
	for _, rule := range spec.Ingress {
		for _, p := range rule.Ports {
			open[p.Port.IntVal] = true
		}
	}
	for _, p := range pod.Containers[0].Ports {
		require.Equal(t, p.Name != "debug", open[p.ContainerPort], p.Name)
	}
	require.NotZero(t, pod.Containers[0].Resources.Limits.Memory().Value(), "netloom keeps its memory below the limit")
}
