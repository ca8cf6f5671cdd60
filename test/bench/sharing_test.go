package bench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// sharer is the i-th of many policies with a peer in common, and n-1 others of its own.
func sharer(i, n int) *networkingv1.NetworkPolicy {
	app := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	}
	from := []networkingv1.NetworkPolicyPeer{{PodSelector: app("common")}}
	for j := range n - 1 {
		from = append(from, networkingv1.NetworkPolicyPeer{PodSelector: app(fmt.Sprintf("own-%d-%d", i, j))})
	}
	p := &networkingv1.NetworkPolicy{}
	p.Namespace, p.Name = "shop", fmt.Sprint("p", i)
	p.Spec = networkingv1.NetworkPolicySpec{
		PodSelector: *app(fmt.Sprint("to", i)), Ingress: []networkingv1.NetworkPolicyIngressRule{{From: from}},
	}
	return p
}

// crowd is a rig with as many such policies.
func crowd(tb testing.TB, policies, n int) *rig {
	tb.Helper()
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(tb, err)
	require.NoError(tb, server.Start("unix:"+tb.TempDir()+"/nb.sock"))
	tb.Cleanup(server.Close)
	r := newRig(tb, server.Addr())
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.Labels = "shop", "common", map[string]string{"app": "common"}
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}}
	require.NoError(tb, r.translator.Put(pod))
	for i := range policies {
		require.NoError(tb, r.translator.Put(sharer(i, n)))
	}
	r.sync(tb)
	return r
}

// toggle lets a policy come or go.
func (r *rig) toggle(tb testing.TB, i, n int, there bool) {
	tb.Helper()
	if there {
		require.NoError(tb, r.translator.Put(sharer(i, n)))
	} else {
		r.translator.Remove(object.KindNetworkPolicy, "shop", fmt.Sprint("p", i))
	}
}

// TestSharingIsNoAmplifier adds policies one by one, until their common peer is worth twice its own rows, and removes them again. At no point
// are the lists of all others divided again, which took five rows for each.
func TestSharingIsNoAmplifier(t *testing.T) {
	const n, most = 100, 60
	r := crowd(t, n, n)
	wrote := func(i int, there bool) int {
		r.toggle(t, i, n, there)
		return len(r.sync(t).Ops)
	}
	sum := 0
	for i := n; i < 2*n; i++ {
		rows := wrote(i, true)
		require.LessOrEqual(t, rows, most, "policy %d comes", i)
		sum += rows
	}
	for i := 2*n - 1; i >= n; i-- {
		rows := wrote(i, false)
		require.LessOrEqual(t, rows, most, "policy %d goes", i)
		sum += rows
	}
	require.Less(t, sum, 15*2*n)
}

// BenchmarkSharing lets one more policy come and go, among many with as many peers, of which all have one in common.
func BenchmarkSharing(b *testing.B) {
	for _, n := range []int{60, 240, 1000} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			r := crowd(b, n, n)
			rows, i := 0, 0
			for b.Loop() {
				r.toggle(b, n, n, i%2 == 0)
				rows += len(r.sync(b).Ops)
				i++
			}
			b.ReportMetric(float64(rows)/float64(i), "rows/toggle")
		})
	}
}
