package kube

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/object"
)

// TestAConditionIsNoChange updates pods with a readiness gate. What changes the condition alone is reported apart; what changes more is a
// change like any other, and not reported apart.
func TestAConditionIsNoChange(t *testing.T) {
	const gate = corev1.PodConditionType("example.com/gate")
	with := func(name, version, ip string, status corev1.ConditionStatus) *corev1.Pod {
		p := sourcetest.Pod(name, version)
		p.Status.PodIPs, p.Status.Conditions = []corev1.PodIP{{IP: ip}}, nil
		source.SetGate(p, gate, status)
		return p
	}
	client := fake.NewClientset(with("a", "1", "10.0.0.1", ""), with("b", "2", "10.0.0.2", ""))
	k := New(client, Options{Options: source.Options{Gate: gate}}, quiet())
	conditions := make(chan object.Ref, 10)
	k.OnCondition(func(ref object.Ref) { conditions <- ref })
	sourcetest.Run(t, k)
	sourcetest.Await(t, k, k.Synced)
	k.Drain()
	update := func(p *corev1.Pod) {
		t.Helper()
		_, err := client.CoreV1().Pods("shop").Update(t.Context(), p, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	update(with("a", "3", "10.0.0.1", corev1.ConditionTrue))
	require.Equal(t, podA, <-conditions)
	o, _ := k.Get(podA)
	status, _ := source.Gate(o.(*corev1.Pod), gate)
	require.Equal(t, corev1.ConditionTrue, status, "it is in place when it is reported")
	update(with("b", "4", "10.0.0.3", corev1.ConditionTrue)) // and the address
	awaitDirty(t, k, podB)                                   // and not the other pod
	update(with("b", "5", "10.0.0.3", ""))
	require.Equal(t, podB, <-conditions, "the change before was not reported apart")
	require.Empty(t, k.Drain())
}
