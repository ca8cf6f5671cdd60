package verify_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/pkg/answers/verify"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/translator"
)

// cluster makes pods in apps of ten on one switch, with a policy for every second app, and the rows that enforce it.
func cluster(tb testing.TB, pods int) (*world.State, *nbtrace.Rows) {
	tb.Helper()
	t := translator.New(translator.Options{})
	rows := &nbtrace.Rows{Switches: []nbtrace.Switch{{Name: "sw"}}}
	put := func(o any) { require.NoError(tb, t.Put(o)) }
	put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	address := func(i int) string { return fmt.Sprintf("10.%d.%d.%d", 16+i/62500, i/250%250, 1+i%250) }
	for i := range pods {
		app := fmt.Sprint("a", i/10)
		name := fmt.Sprint("p", i)
		put(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"app": app}},
			Spec:       corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address(i)},
		})
		rows.Switches[0].Ports = append(rows.Switches[0].Ports, "ns_"+name)
		rows.Ports = append(rows.Ports, nbtrace.Port{Name: "ns_" + name, Addresses: []string{"0a:00:00:00:00:01 " + address(i)}})
	}
	tcp := corev1.ProtocolTCP
	for a := 0; a < pods/10; a += 2 {
		app, peer := fmt.Sprint("a", a), (a+1)%(pods/10)
		port := intstr.FromInt32(int32(1000 + a%7))
		put(&networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: app},
			Spec: networkingv1.NetworkPolicySpec{
				PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
				PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
				Ingress: []networkingv1.NetworkPolicyIngressRule{{
					From:  []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint("a", peer)}}}},
					Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &port}},
				}},
			},
		})
		set := nbtrace.AddressSet{Name: "s" + app}
		group := nbtrace.PortGroup{Name: "g" + app, ACLs: []string{"d" + app, "p" + app}}
		for i := range 10 {
			set.Addresses = append(set.Addresses, address(peer*10+i))
			group.Ports = append(group.Ports, fmt.Sprint("ns_p", a*10+i))
		}
		rows.AddressSets, rows.PortGroups = append(rows.AddressSets, set), append(rows.PortGroups, group)
		rows.ACLs = append(rows.ACLs,
			nbtrace.ACL{UUID: "d" + app, Direction: "to-lport", Priority: 1000, Action: "drop", Match: "outport == @g" + app},
			nbtrace.ACL{
				UUID: "p" + app, Direction: "to-lport", Priority: 1001, Action: "allow-related",
				Match: fmt.Sprintf("ip4.src == {$s%s} && tcp && tcp.dst == %d && outport == @g%s", app, 1000+a%7, app),
			})
	}
	return &world.State{Snapshot: t.Snapshot(), View: t.View()}, rows
}

// TestManyPodsAreFewClasses compares a cluster in which most pods are alike, and one mistake in it.
func TestManyPodsAreFewClasses(t *testing.T) {
	state, rows := cluster(t, 1000)
	report := verify.Compare(state, rows)
	require.True(t, report.Agrees(), report.Unknown)
	require.Equal(t, 1000, report.Pods)
	require.LessOrEqual(t, report.Classes, 1000/10+10)

	rows.AddressSets[3].Addresses = rows.AddressSets[3].Addresses[1:]
	report = verify.Compare(state, rows)
	require.True(t, report.Conclusive())
	require.Len(t, report.Findings, 1)
	require.Equal(t, "closes ns/p70 (10.16.0.71) -> ns/p60 (10.16.0.61) tcp/1006",
		fmt.Sprint(report.Findings[0].Effect, " ", report.Findings[0].Example))
	require.Len(t, report.Findings[0].To.Pods, 10)
}

// BenchmarkCompare compares 10,000 pods in 1,000 apps, under 500 policies that agree.
func BenchmarkCompare(b *testing.B) {
	state, rows := cluster(b, 10_000)
	for b.Loop() {
		report := verify.Compare(state, rows)
		if !report.Agrees() {
			b.Fatal(report.Unknown)
		}
		b.ReportMetric(float64(report.Pairs), "pairs")
	}
}
