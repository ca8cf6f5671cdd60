package kube

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/seeds"
)

// randomPod returns a pod in which each part is sometimes missing.
func randomPod(rnd *rand.Rand) *corev1.Pod {
	texts := func(what string) string { return []string{"", what, what + "2"}[rnd.IntN(3)] }
	table := func(what string) map[string]string {
		var m map[string]string
		for i := range rnd.IntN(3) {
			if m == nil {
				m = map[string]string{}
			}
			m[fmt.Sprint(what, i)] = texts("v")
		}
		return m
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", Namespace: texts("ns"), UID: types.UID(texts("uid")), ResourceVersion: texts("1"),
		Labels: table("l"), Annotations: table("netloom.io/a"),
	}}
	if rnd.IntN(3) == 0 {
		at := metav1.NewTime(time.Unix(int64(rnd.IntN(2)), 0))
		p.DeletionTimestamp = &at
	}
	always := corev1.ContainerRestartPolicyAlways
	for i := range rnd.IntN(3) {
		c := corev1.Container{Name: fmt.Sprint("c", i), Image: "dropped"}
		for range rnd.IntN(3) {
			c.Ports = append(c.Ports, corev1.ContainerPort{
				Name: texts("web"), ContainerPort: int32(rnd.IntN(2)), HostPort: int32(rnd.IntN(2)), HostIP: texts("h"),
				Protocol: corev1.Protocol(texts("TCP")),
			})
		}
		if rnd.IntN(2) == 0 {
			c.RestartPolicy = &always
		}
		if rnd.IntN(2) == 0 {
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		} else {
			p.Spec.Containers = append(p.Spec.Containers, c)
		}
	}
	p.Spec.NodeName, p.Spec.HostNetwork = texts("n"), rnd.IntN(2) == 0
	p.Status.Phase, p.Status.PodIP = corev1.PodPhase(texts("Running")), texts("10.0.0.1")
	for range rnd.IntN(3) {
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: texts("10.0.0.1")})
	}
	if rnd.IntN(3) == 0 {
		source.SetGate(p, "example.com/gate", corev1.ConditionStatus(texts("True")))
	}
	return p
}

// TestCompactPodsAreComplete checks that nothing of a trimmed pod is lost, and that compact pods are equal if the pods are.
func TestCompactPodsAreComplete(t *testing.T) {
	seeds.Each(t, "compactpods", func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		c := newCompactor()
		equal, different := 0, 0
		for range 20_000 {
			p := randomPod(rnd)
			trimmed(p)
			want := p.DeepCopy()
			kept := c.compact(p)
			require.IsType(t, &compactPod{}, kept)
			got, ok := expanded(kept)
			require.True(t, ok)
			require.True(t, reflect.DeepEqual(want, got), "%+v\n%+v", want, got)
			key, err := cache.MetaNamespaceKeyFunc(kept)
			require.NoError(t, err)
			require.Equal(t, cache.MetaObjectToName(want).String(), key)
			other := want.DeepCopy()
			mix(rnd, other)
			same := source.Equal(want, other)
			require.Equal(t, same, equalKept(kept, c.compact(other.DeepCopy())), "%+v\n%+v", want, other)
			if same {
				equal++
			} else {
				different++
			}
		}
		require.Greater(t, min(equal, different), 1000)
	})
}

// mix replaces one part of a pod by that of another, which may be equal.
func mix(rnd *rand.Rand, p *corev1.Pod) {
	q := randomPod(rnd)
	trimmed(q)
	switch rnd.IntN(13) {
	case 0:
		p.ResourceVersion = q.ResourceVersion
	case 1:
		p.Namespace = q.Namespace
	case 2:
		p.UID = q.UID
	case 3:
		p.Labels = q.Labels
	case 4:
		p.Annotations = q.Annotations
	case 5:
		p.DeletionTimestamp = q.DeletionTimestamp
	case 6:
		p.Spec.Containers = q.Spec.Containers
	case 7:
		p.Spec.InitContainers = q.Spec.InitContainers
	case 8:
		p.Spec.NodeName, p.Spec.HostNetwork = q.Spec.NodeName, q.Spec.HostNetwork
	case 9:
		p.Status.Phase = q.Status.Phase
	case 10:
		p.Status.PodIP = q.Status.PodIP
	case 11:
		p.Status.PodIPs = q.Status.PodIPs
	case 12:
		p.Spec.ReadinessGates, p.Status.Conditions = q.Spec.ReadinessGates, q.Status.Conditions
	}
}

// trimmed trims a pod, except for the readiness gate of randomPod.
func trimmed(p *corev1.Pod) {
	trim(row(object.KindPod), p, "example.com/gate")
}

// TestPodsOfAWorkloadShare checks what is kept once for pods that have it in common, and that a CNF is kept as it is.
func TestPodsOfAWorkloadShare(t *testing.T) {
	c := newCompactor()
	pod := func(name string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}},
		}
	}
	a, ok := c.compact(pod("a", map[string]string{"app": "web"})).(*compactPod)
	require.True(t, ok)
	b, ok := c.compact(pod("b", map[string]string{"app": "web"})).(*compactPod)
	require.True(t, ok)
	require.Same(t, a.labels, b.labels)
	require.Same(t, a.containers, b.containers)
	one, two := c.compact(pod("a", map[string]string{"a": "bc"})), c.compact(pod("a", map[string]string{"ab": "c"}))
	require.False(t, equalKept(one, two), "the same text in other parts")
	cnf := pod("cnf", map[string]string{v1alpha1.LabelPurpose: "edge"})
	require.Same(t, cnf, c.compact(cnf))
	_, ok = expanded(cache.DeletedFinalStateUnknown{})
	require.False(t, ok)
	require.False(t, equalKept(cnf, cache.DeletedFinalStateUnknown{}))
}

// TestSharedValuesGo checks that a value nobody refers to any more is not kept, and that one that came back is.
func TestSharedValuesGo(t *testing.T) {
	s := newShared[podLabels]()
	create := func() *podLabels { return &podLabels{map[string]string{"app": "web"}} }
	func() {
		v := s.get("k", create)
		s.forget("k")
		require.Same(t, v, s.get("k", create), "it is in use")
	}()
	runtime.GC()
	s.mu.Lock() // the runtime may be forgetting the key just now
	v := s.byKey["k"].Value()
	s.mu.Unlock()
	require.Nil(t, v)
	s.forget("k")
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.byKey)
}
