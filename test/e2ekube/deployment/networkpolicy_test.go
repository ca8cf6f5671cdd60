package deployment

import (
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// policyOf is a NetworkPolicy.
func policyOf(t *testing.T, objects []*unstructured.Unstructured, name string) *networkingv1.NetworkPolicySpec {
	t.Helper()
	o := Find(objects, "NetworkPolicy", name)
	require.NotNil(t, o)
	var p networkingv1.NetworkPolicy
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &p, true))
	return &p.Spec
}

// TestNetworkPolicyOfNetloom compares the component with the chart: both select the pods of netloom and of its webhook, and
// open every port of theirs but that of the debug endpoints.
func TestNetworkPolicyOfNetloom(t *testing.T) {
	kustomized := composed(t, "central", "webhook", "network-policy")
	charted, err := Helm(chart, "netloom", "netloom-system", map[string]any{
		"config": map[string]any{"ovn-nb": []any{"tcp:127.0.0.1:6641"}, "ovn-port-names": "ovn-kubernetes"}, "networkPolicy": map[string]any{"enabled": true},
		"webhook": map[string]any{"enabled": true},
	})
	require.NoError(t, err)
	requireSamePolicy(t, kustomized, charted, "netloom")
	for _, objects := range [][]*unstructured.Unstructured{kustomized, charted} {
		requireOpen(t, objects, "netloom", "netloom", "netloom-webhook")
	}
}

// requireSamePolicy checks that two renderings have the same rules in a NetworkPolicy.
func requireSamePolicy(t *testing.T, a, b []*unstructured.Unstructured, name string) {
	t.Helper()
	require.Equal(t, policyOf(t, a, name).Ingress, policyOf(t, b, name).Ingress)
	require.Equal(t, policyOf(t, a, name).Egress, policyOf(t, b, name).Egress)
}

// requireOpen checks that a NetworkPolicy selects the pods of Deployments, and opens every port of theirs but that of the debug
// endpoints.
func requireOpen(t *testing.T, objects []*unstructured.Unstructured, policy string, deployments ...string) {
	t.Helper()
	spec := policyOf(t, objects, policy)
	selector, err := metav1.LabelSelectorAsSelector(&spec.PodSelector)
	require.NoError(t, err)
	open := map[int32]bool{}
	for _, rule := range spec.Ingress {
		for _, p := range rule.Ports {
			open[p.Port.IntVal] = true
		}
	}
	for _, name := range deployments {
		deployment := Find(objects, "Deployment", name)
		of, _, err := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "labels")
		require.NoError(t, err)
		require.True(t, selector.Matches(labels.Set(of)), name)
		container := podOf(t, deployment).Containers[0]
		for _, p := range container.Ports {
			require.Equal(t, p.Name != "debug", open[p.ContainerPort], p.Name)
		}
		require.NotZero(t, container.Resources.Limits.Memory().Value(), "%s keeps its memory below the limit", name)
	}
}
