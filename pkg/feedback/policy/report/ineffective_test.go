package report_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/policy/report"
)

// TestAPortThatNoPodDeclaresIsNamed has a policy for a port name that its pods get later.
func TestAPortThatNoPodDeclaresIsNamed(t *testing.T) {
	s := newScene(t)
	port := intstr.FromString("pgsql")
	s.put(&networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "shop", Generation: 1},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: &port}}}},
		},
	})
	p := report.Policy{Namespace: "shop", Name: "db", Generation: 1}
	translated := func(had v1alpha1.PolicyStatusStatus) (now v1alpha1.PolicyStatusStatus, says string, notes []string) {
		w := s.world(s.synced())
		now = w.Status(p, &had)
		for _, n := range w.Notes(&had, &now) {
			if n.Reason == report.ReasonIneffective {
				require.True(t, n.Warning)
				notes = append(notes, n.Message)
			}
		}
		c := condition(&now, v1alpha1.ConditionTranslated)
		require.Equal(t, metav1.ConditionTrue, c.Status)
		require.Equal(t, "True Enforced", enforced(&now), "it is enforced as it is written")
		return now, c.Message, notes
	}
	status, says, notes := translated(v1alpha1.PolicyStatusStatus{})
	require.Empty(t, says, "it selects no pod yet")
	require.Empty(t, notes)

	const what = `spec.ingress[0].ports[0].port: no selected pod declares a tcp port "pgsql"`
	s.pod("db-0", "db", "10.0.0.1")
	status, says, notes = translated(status)
	require.Equal(t, what, says)
	require.Equal(t, []string{what}, notes)
	status, says, notes = translated(status)
	require.Equal(t, what, says)
	require.Empty(t, notes, "it is said once")

	s.put(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-1", Namespace: "shop", Labels: map[string]string{"app": "db"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "pgsql", ContainerPort: 5432}}}}},
		Status:     corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.0.2"}}},
	})
	_, says, notes = translated(status)
	require.Empty(t, says)
	require.Empty(t, notes)
}
