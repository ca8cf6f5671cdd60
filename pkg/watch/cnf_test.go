package watch

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"
)

// cnfPod is a pod with everything about it that changes as it runs.
func cnfPod(labels map[string]string, ready corev1.ConditionStatus, restarts int32) *corev1.Pod {
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "cnf-1", Namespace: "shop", UID: "u", ResourceVersion: "1", Labels: labels,
			Annotations: map[string]string{
				"k8s.plugin.opnfv.org/nfn-network": "{}", "k8s.v1.cni.cncf.io/network-status": "[]",
				"k8s.v1.cni.cncf.io/networks-status": "[1]", "k8s.v1.cni.cncf.io/networks": "x", "note": "y",
			},
			OwnerReferences: []metav1.OwnerReference{
				{Kind: "Other", Name: "o"}, {Kind: "ReplicaSet", Name: "cnf-5d4f", Controller: &yes},
			},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
				{Type: corev1.PodReady, Status: ready, Message: "m", LastProbeTime: metav1.Unix(int64(restarts), 0)},
			},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "cnf", RestartCount: restarts, Image: "i", ContainerID: "x"}},
		},
	}
}

func TestTrimmedCNF(t *testing.T) {
	yes, now := true, metav1.Now()
	labels := map[string]string{"sdewanPurpose": "cnf1", "cnf-cert-secret": "c", "app": "cnf"}
	p := cnfPod(labels, corev1.ConditionFalse, 3)
	p.DeletionTimestamp = &now
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "cnf-1", Namespace: "shop", UID: "u", ResourceVersion: "1", Labels: labels, DeletionTimestamp: &now,
			Annotations: map[string]string{
				"k8s.plugin.opnfv.org/nfn-network": "{}", "k8s.v1.cni.cncf.io/network-status": "[]",
				"k8s.v1.cni.cncf.io/networks-status": "[1]",
			},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "cnf-5d4f", Controller: &yes}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "cnf", RestartCount: 3}},
		},
	}
	trimPod(p)
	require.Equal(t, want, p)
	trimPod(p)
	require.Equal(t, want, p, "trimming twice is trimming once")
}

// TestRestartsMatterAtCNFsOnly keeps what every pod does all day from being a change.
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
				client := kubefake.NewClientset(cnfPod(tc.labels, corev1.ConditionTrue, 0))
				k := NewKubernetes(client, Options{}, quiet())
				running(t, k)
				synctest.Wait()
				k.Drain()
				for _, p := range []*corev1.Pod{
					cnfPod(tc.labels, corev1.ConditionTrue, 1), cnfPod(tc.labels, corev1.ConditionFalse, 1),
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

func TestReadinessOfPodsInManifests(t *testing.T) {
	const cnf = "apiVersion: v1\nkind: Pod\nmetadata: {name: cnf, namespace: shop, labels: {sdewanPurpose: cnf1}}\n"
	for _, tc := range []struct {
		name, status string
		want         []corev1.PodCondition
	}{
		{"an address alone", "{podIP: 10.0.0.1}", []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		{"nothing", "{}", nil},
		{
			"an address and that it runs", "{podIP: 10.0.0.1, phase: Running}",
			[]corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
		{"an address and that it failed", "{podIP: 10.0.0.1, phase: Failed}", nil},
		{
			"an address and that it is not ready", "{podIP: 10.0.0.1, conditions: [{type: Ready, status: 'False'}]}",
			[]corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := only[*corev1.Pod](t, cnf+"status: "+tc.status+"\n")
			require.Equal(t, tc.want, p.Status.Conditions)
		})
	}
}
