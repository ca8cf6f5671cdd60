package kube

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
)

// TestRestartsMatterAtCNFsOnly checks that what every pod does all day is not a change.
func TestRestartsMatterAtCNFsOnly(t *testing.T) {
	for _, tc := range []struct {
		name   string
		labels map[string]string
		want   bool
	}{
		{"a CNF", map[string]string{"sdewanPurpose": "cnf1"}, true},
		{"another pod", map[string]string{"app": "web"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := kubefake.NewClientset(sourcetest.CNF(tc.labels, corev1.ConditionTrue, 0))
				k := New(client, Options{}, quiet())
				sourcetest.Run(t, k)
				synctest.Wait()
				k.Drain()
				for _, p := range []*corev1.Pod{
					sourcetest.CNF(tc.labels, corev1.ConditionTrue, 1), sourcetest.CNF(tc.labels, corev1.ConditionFalse, 1),
				} {
					_, err := client.CoreV1().Pods("shop").Update(t.Context(), p, metav1.UpdateOptions{})
					require.NoError(t, err)
					synctest.Wait()
					require.Equal(t, tc.want, len(k.Drain()) == 1)
				}
			})
		})
	}
}
