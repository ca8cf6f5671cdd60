// Package sourcetest runs sources in tests and waits for them.
package sourcetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/test/await"
)

// Run starts a source and waits for it to end with the test.
func Run(t *testing.T, s source.Source) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

// Await waits on the source's wake channel until ready returns true.
func Await(t *testing.T, s source.Source, ready func() bool) {
	t.Helper()
	var timeout <-chan time.Time // of the test program, or none
	if end, ok := await.End(t); ok {
		timeout = time.After(time.Until(end)) // pause: for as long as the test program may run
	}
	for !ready() {
		select {
		case <-s.Wake():
		case <-timeout:
			require.FailNow(t, "nothing came", "dirty %v, problems %v", s.Drain(), s.Problems())
		}
	}
}

// Pod returns a running pod of the namespace shop as an API delivers it, with much that no source keeps.
func Pod(name, revision string) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "shop", UID: "u", ResourceVersion: revision,
			CreationTimestamp: metav1.Unix(1, 0),
			Labels:            map[string]string{"app": name},
			Annotations: map[string]string{
				"netloom.io/log": "info", "k8s.ovn.org/pod-networks": "{}", "ovn.kubernetes.io/ip_address": "10.0.0.1",
				"kubernetes.io/psp": "x",
			},
			OwnerReferences: []metav1.OwnerReference{{Name: "rs"}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
			Finalizers:      []string{"a/b"},
		},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{{Name: "v"}},
			InitContainers: []corev1.Container{
				{Name: "setup", Ports: []corev1.ContainerPort{{ContainerPort: 1}}},
				{Name: "proxy", Image: "i", RestartPolicy: &always, Ports: []corev1.ContainerPort{{Name: "p", ContainerPort: 2}}},
			},
			Containers: []corev1.Container{
				{Name: "c", Image: "i", Env: []corev1.EnvVar{{Name: "E"}}, Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 80}}},
			},
			NodeName: "n1", HostNetwork: true, ServiceAccountName: "sa",
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}},
			HostIP: "192.0.2.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady}},
		},
	}
}

// CNF returns a pod with everything about it that changes as it runs.
func CNF(labels map[string]string, ready corev1.ConditionStatus, restarts int32) *corev1.Pod {
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
