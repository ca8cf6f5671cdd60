//go:build e2e

package e2ekube_test

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/test/await"
)

// foreignCondition is a condition that somebody else sets, of which netloom knows nothing.
const foreignCondition = "example.com/checked"

var roundsFlag = flag.Int("rounds", 1, "how often TestReadinessCost measures each of its cases, in turn")

// podStarts is one of the cases of TestReadinessCost.
type podStarts struct {
	name      string
	condition corev1.PodConditionType // that every pod gets in the end; "" for none
}

// TestReadinessCost starts as many pods as -pods says at a real API server and prints the processor time of netloom: without the gate; without
// it, while somebody else sets a condition of each pod, which is one event more; and with the gate, where it counts the writes of netloom.
// The database is a real ovsdb-server without northd, so that the proof is what is written.
func TestReadinessCost(t *testing.T) {
	cases := []podStarts{{name: "without the gate"}, {"without the gate, and a condition that somebody else sets", foreignCondition}, {"with the gate", readinessGate}}
	used := map[string][]float64{}
	for range *roundsFlag {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { used[c.name] = append(used[c.name], c.cost(t)) })
		}
	}
	for _, c := range cases {
		require.Len(t, used[c.name], *roundsFlag)
		slices.Sort(used[c.name])
		median := func(c podStarts) float64 { return used[c.name][*roundsFlag/2] }
		t.Logf("%d pod starts %s: %.2f s of netloom's processor time (%.2f), %+.0f %%",
			*podsFlag, c.name, median(c), used[c.name], 100*(median(c)/median(cases[0])-1))
	}
}

// cost is the processor time that netloom takes for pods that start, in seconds.
func (c podStarts) cost(t *testing.T) float64 {
	s := newScale(t)
	settings, components := fmt.Sprintf("ovn-nb: [\"tcp:%s\"]\n", s.address), []string(nil)
	gated := c.condition == readinessGate
	if gated {
		for _, p := range s.load.cluster.Pods {
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: readinessGate}}
		}
		settings, components = settings+"readiness-proof: written\n", []string{"readiness"}
	}
	s.kube.ApplyObjects(central(t, components...)(settings))
	deployment, err := s.kube.Client().AppsV1().Deployments(home).Get(t.Context(), "netloom", metav1.GetOptions{})
	require.NoError(t, err)
	s.netloom = runTemplate(t, s.kube, deployment, "netloom")
	s.netloom.AwaitReady()
	s.load.namespaces(t)
	have := s.load.watchCondition(t, c.condition) // not by asking netloom, which would have to answer
	before := cpuOf(t, s.netloom.PID())
	s.load.create(t, s.times)
	s.times.await(t, s.netloom, kindLoad)
	if c.condition == foreignCondition {
		s.load.setCondition(t, foreignCondition)
	}
	if c.condition != "" {
		await.True(t, func() bool { return have() == *podsFlag }, "every pod has the condition %s", c.condition)
	}
	used := cpuOf(t, s.netloom.PID()) - before
	t.Logf("%.2f s, %d snapshots", used, gaugeOf(t, s.netloom, "netloom_translations_total"))
	if gated {
		require.EqualValues(t, *podsFlag, gaugeOf(t, s.netloom, `netloom_readiness_writes_total{result="ok"}`), "one write a pod start")
	}
	return used
}

// watchCondition returns a function that counts the pods which have a condition that is True, by a watch of its own.
func (l *load) watchCondition(t *testing.T, condition corev1.PodConditionType) func() int {
	t.Helper()
	var mu sync.Mutex
	have := map[types.UID]bool{}
	look := func(o any) {
		p, _ := o.(*corev1.Pod)
		if p == nil || !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition && c.Status == corev1.ConditionTrue }) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		have[p.UID] = true
	}
	pods := informers.NewSharedInformerFactory(l.client, 0).Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(_, o any) { look(o) }})
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() { pods.Run(t.Context().Done()) })
	t.Cleanup(running.Wait)
	await.True(t, pods.HasSynced, "pods are watched")
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(have)
	}
}

// setCondition sets a condition of every pod.
func (l *load) setCondition(t *testing.T, condition string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":%q,"status":"True","reason":"Checked","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, condition)
	l.each(t, len(l.cluster.Pods), func(i int) {
		p := l.cluster.Pods[i]
		_, err := l.client.CoreV1().Pods(p.Namespace).Patch(t.Context(), p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		assert.NoError(t, err)
	})
}
