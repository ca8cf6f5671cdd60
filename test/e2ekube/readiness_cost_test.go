//go:build e2e

package e2ekube_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/await"
)

// TestReadinessCost starts as many pods as -pods says at a real API server twice, without and with the gate, counts the writes of netloom, and
// prints its processor time of both. The database is a real ovsdb-server without northd, so that the proof is what is written.
func TestReadinessCost(t *testing.T) {
	pods := *podsFlag
	var used [2]float64
	for i, gated := range []bool{false, true} {
		t.Run(fmt.Sprintf("gate %t", gated), func(t *testing.T) {
			s := newScale(t)
			settings := fmt.Sprintf("ovn-nb: [\"tcp:%s\"]\n", s.address)
			if gated {
				for _, p := range s.load.cluster.Pods {
					p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: readinessGate}}
				}
				settings += "readiness-proof: written\n"
				s.kube.ApplyObjects(central(t, "readiness")(settings))
			} else {
				s.kube.ApplyObjects(central(t)(settings))
			}
			deployment, err := s.kube.Client().AppsV1().Deployments(home).Get(t.Context(), "netloom", metav1.GetOptions{})
			require.NoError(t, err)
			s.netloom = runTemplate(t, s.kube, deployment, "netloom")
			s.netloom.AwaitReady()
			s.load.namespaces(t)
			before := cpuOf(t, s.netloom.PID())
			s.load.create(t, s.times)
			s.times.await(t, s.netloom, kindLoad)
			if gated {
				writes := func() int64 { return gaugeOf(t, s.netloom, `netloom_readiness_writes_total{result="ok"}`) }
				await.True(t, func() bool { return writes() >= int64(pods) }, "every pod has its condition")
				require.EqualValues(t, pods, writes(), "one write a pod start")
			}
			used[i] = cpuOf(t, s.netloom.PID()) - before
		})
	}
	t.Logf("%d pod starts: %.2f s of netloom's processor time without the gate, %.2f s with it: %+.0f %%", pods, used[0], used[1], 100*(used[1]/used[0]-1))
}
