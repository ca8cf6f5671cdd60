package verify_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/answers/verify"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/translator"
)

// TestAFamilyIsNamedOnlyIfBothEndsHaveBoth isolates two pods without a row for IPv6, and one of them without any row.
func TestAFamilyIsNamedOnlyIfBothEndsHaveBoth(t *testing.T) {
	tr := translator.New(translator.Options{})
	rows := &nbtrace.Rows{
		Switches:   []nbtrace.Switch{{Name: "sw"}},
		PortGroups: []nbtrace.PortGroup{{Name: "g", Ports: []string{"ns_dual"}, ACLs: []string{"d"}}},
		ACLs:       []nbtrace.ACL{{UUID: "d", Direction: "to-lport", Priority: 1000, Action: "drop", Match: "outport == @g && ip4"}},
	}
	put := func(o any) { require.NoError(t, tr.Put(o)) }
	put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	for name, addrs := range map[string][]string{
		"four": {"10.0.0.1"}, "client": {"10.0.0.2", "fd00::2"}, "dual": {"10.0.0.3", "fd00::3"},
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"app": name}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		}
		for _, a := range addrs {
			pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: a})
		}
		put(pod)
		rows.Switches[0].Ports = append(rows.Switches[0].Ports, "ns_"+name)
		rows.Ports = append(rows.Ports, nbtrace.Port{Name: "ns_" + name, Addresses: []string{"0a:00:00:00:00:01 " + strings.Join(addrs, " ")}})
		if name != "client" {
			put(&networkingv1.NetworkPolicy{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
				Spec: networkingv1.NetworkPolicySpec{
					PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
					PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
				},
			})
		}
	}
	families := map[string]string{}
	for _, f := range verify.Compare(&world.State{Snapshot: tr.Snapshot(), View: tr.View()}, rows).Findings {
		if len(f.From.Pods) > 0 {
			families[f.Example.To] += f.Family
		}
	}
	require.Equal(t, map[string]string{"ns/dual": "IPv6", "ns/four": ""}, families)
}
