package reach_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
)

func TestTablesMatchTrafficOfPairs(t *testing.T) {
	seeds.Each(t, "tables", func(t *testing.T, seed uint64) {
		c := policygen.Generate(seed, policygen.Size{})
		s := translate(t, c)
		classes := reach.Classify(placesOf(c, s), s)
		from, to := classes, classes[len(classes)/3:]
		table := reach.NewTable(0, from, to)
		var column []int
		for j := range to {
			column = table.Column(j, column)
			require.Len(t, column, len(from))
			for i, kind := range column {
				if from[i].Family != to[j].Family {
					require.Equal(t, reach.NoTraffic, kind)
					continue
				}
				want := from[i].Traffic(0, to[j])
				require.True(t, want.Equal(table.Kind(kind)), "seed %d: %s -> %s: %s, not %s", seed,
					from[i].Places[0], to[j].Places[0], table.Kind(kind), want)
			}
		}
	})
}

// TestSetsOfEqualBlocksAreAllFound gives two rules the same block beside different pods.
func TestSetsOfEqualBlocksAreAllFound(t *testing.T) {
	c := &oracle.Cluster{Namespaces: []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}}
	for i, name := range []string{"a", "b"} {
		labels := map[string]string{"app": name}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels}}
		pod.Status.PodIPs = []corev1.PodIP{{IP: netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}).String()}}
		c.Pods = append(c.Pods, pod)
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		policy.Spec.PodSelector.MatchLabels = labels
		policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{
			{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24"}}, {PodSelector: &metav1.LabelSelector{MatchLabels: labels}},
		}}}
		c.Policies = append(c.Policies, policy)
	}
	s := translate(t, c)
	block := netip.MustParsePrefix("192.0.2.0/24")
	found := 0
	classes := reach.Classify(placesOf(c, s), s)
	for _, from := range classes {
		for _, to := range classes {
			if from.Places[0].Standing == block && to.Places[0].Party.Key.Namespace == "shop" {
				require.Equal(t, "everything", from.Traffic(0, to).String(), to.Places[0])
				found++
			}
		}
	}
	require.Equal(t, 2, found)
}

// BenchmarkTable works out what passes between all classes of 10,000 pods and 2,000 policies.
func BenchmarkTable(b *testing.B) {
	c := policygen.Workload(10_000)
	s := translate(b, c)
	classes := reach.Classify(placesOf(c, s), s)
	for b.Loop() {
		table := reach.NewTable(0, classes, classes)
		var column []int
		for j := range classes {
			column = table.Column(j, column)
		}
	}
	b.ReportMetric(float64(len(classes)), "classes")
}
