package bench

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
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

// shop is a rig with one pod, and room for any policies of its namespace.
func shop(tb testing.TB) *rig {
	tb.Helper()
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(tb, err)
	require.NoError(tb, server.Start("unix:"+tb.TempDir()+"/nb.sock"))
	tb.Cleanup(server.Close)
	r := newRig(tb, server.Addr())
	room := budget.Shares{Namespace: 1 << 40, Total: 1 << 40}
	r.translator = translator.New(translator.Options{PartsOnly: true, Shares: budget.All{Policies: room}})
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.Labels = "shop", "common", map[string]string{"app": "common"}
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}}
	require.NoError(tb, r.translator.Put(pod))
	return r
}

// crowd is a rig with as many such policies.
func crowd(tb testing.TB, policies, n int) *rig {
	tb.Helper()
	r := shop(tb)
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

// mostRows is how many rows a policy with a rule writes that comes or goes, whatever others have.
const mostRows = 9

// mostRowsOfFour is the same for a policy with four peers in two directions, which may share all of them.
const mostRowsOfFour = 9

// TestSharingIsNoAmplifier adds policies one by one, until their common peer is worth twice its own rows, and removes them again. No change
// writes more than its own rows. After each one, the others are divided again one by one: not all of them, which would be five rows for each.
func TestSharingIsNoAmplifier(t *testing.T) {
	const n = 100
	r := crowd(t, n, n)
	later, changes := 0, 0
	change := func(i int, there bool) {
		r.toggle(t, i, n, there)
		plan := r.follow(t)
		require.LessOrEqual(t, len(plan.Ops), mostRows, "policy %d, there: %v\n%v", i, there, plan.Ops)
		changes++
		for r.translator.Waiting() > 0 {
			later += len(r.write(t, r.translator.Interim(1)).Ops)
		}
		require.Empty(t, r.sync(t).Ops, "policy %d is divided again although none waits", i)
	}
	for i := n; i < 2*n; i++ {
		change(i, true)
	}
	for i := 2*n - 1; i >= n; i-- {
		change(i, false)
	}
	t.Logf("%d rows for others in %d changes", later, changes)
	require.Positive(t, later, "nothing is shared anew")
	require.Less(t, later, 9*changes)
}

// tenant is a rig with many policies of one namespace that share on purpose.
func tenant(tb testing.TB, policies int) *rig {
	tb.Helper()
	r := shop(tb)
	for i := range policies {
		require.NoError(tb, r.translator.Put(accomplice(i)))
	}
	r.sync(tb)
	return r
}

// accomplices is how many peers one of them has at most, of four times as many. All have one in common.
const accomplices = 8

// accomplice is the i-th of them. Every fourth has the same peers as the one before.
func accomplice(i int) *networkingv1.NetworkPolicy {
	p := sharer(i, 1)
	list := i - i%4/3
	for j := range list % accomplices {
		p.Spec.Ingress[0].From = append(p.Spec.Ingress[0].From, networkingv1.NetworkPolicyPeer{
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint("peer-", list*(j+3)%(4*accomplices))}},
		})
	}
	return p
}

// TestOneOfManySharersWritesItsOwnRows lets policies of a tenant come and go that has 10,000 of them share on purpose.
func TestOneOfManySharersWritesItsOwnRows(t *testing.T) {
	r := tenant(t, 10_000)
	worst := 0
	for i := range 40 {
		for _, there := range []bool{false, true} {
			if n := i * 7; there {
				require.NoError(t, r.translator.Put(accomplice(n)))
			} else {
				r.translator.Remove(object.KindNetworkPolicy, "shop", fmt.Sprint("p", n))
			}
			plan := r.follow(t)
			worst = max(worst, len(plan.Ops))
		}
	}
	t.Logf("at most %d rows", worst)
	require.LessOrEqual(t, worst, mostRows+accomplices)
}

// TestAPolicyEditWritesFewRows deletes each policy of a cluster with pods, creates it again, and gives it another peer and back. Others that
// have something in common with it are divided again later, all of them at once.
func TestAPolicyEditWritesFewRows(t *testing.T) {
	_, cluster, r := newWorkload(t)
	r.sync(t)
	var rows []int
	later := 0
	wrote := func(what string, p *networkingv1.NetworkPolicy) {
		plan := r.follow(t)
		require.LessOrEqual(t, len(plan.Ops), mostRowsOfFour, "%s %s\n%v", what, p.Name, plan.Ops)
		rows = append(rows, len(plan.Ops))
		later += len(r.sync(t).Ops)
	}
	for _, p := range cluster.Policies {
		r.translator.Remove(object.KindNetworkPolicy, p.Namespace, p.Name)
		wrote("delete", p)
		require.NoError(t, r.translator.Put(p))
		wrote("create", p)
		edited := p.DeepCopy()
		edited.Spec.Ingress[0].From = append(edited.Spec.Ingress[0].From, networkingv1.NetworkPolicyPeer{
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a1", "edited": "true"}},
		})
		require.NoError(t, r.translator.Put(edited))
		wrote("edit", p)
		require.NoError(t, r.translator.Put(p))
		wrote("edit back", p)
	}
	slices.Sort(rows)
	t.Logf("rows: median %d, most %d; later, for others, %d in %d changes", rows[len(rows)/2], rows[len(rows)-1], later, len(rows))
}

// BenchmarkSharing lets one more policy come and go, among many with as many peers, of which all have one in common, and among those of a
// tenant that has them share on purpose.
func BenchmarkSharing(b *testing.B) {
	for _, n := range []int{60, 120, 240, 1000} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			benchmarkSharing(b, crowd(b, n, n), func(i int) *networkingv1.NetworkPolicy { return sharer(n+i, n) })
		})
	}
	b.Run("tenant", func(b *testing.B) {
		benchmarkSharing(b, tenant(b, 10_000), func(i int) *networkingv1.NetworkPolicy { return accomplice(10_000 + i) })
	})
}

func benchmarkSharing(b *testing.B, r *rig, more func(i int) *networkingv1.NetworkPolicy) {
	b.Helper()
	rows, worst, waited, i := 0, 0, 0, 0
	for b.Loop() {
		p := more(i / 2 % 16)
		if i%2 == 0 {
			require.NoError(b, r.translator.Put(p))
		} else {
			r.translator.Remove(object.KindNetworkPolicy, p.Namespace, p.Name)
		}
		n := len(r.follow(b).Ops)
		rows, worst, waited = rows+n, max(worst, n), max(waited, r.translator.Waiting())
		i++
	}
	b.ReportMetric(float64(rows)/float64(i), "rows/change")
	b.ReportMetric(float64(worst), "most-rows")
	b.ReportMetric(float64(waited), "most-waiting")
}
