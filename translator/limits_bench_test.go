package translator_test

import (
	"fmt"
	"math"
	"net/netip"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
)

// unlimited is a budget that no object goes beyond.
func unlimited() budget.Limits {
	var l budget.Limits
	for i := range l {
		l[i] = math.MaxInt32
	}
	return l
}

// benchmarkLong translates a policy whose one list has n elements, beyond every limit and within the default budget, which
// may refuse it.
func benchmarkLong(b *testing.B, policy func(n int) *networkingv1.NetworkPolicy, beside func(n int) []any) {
	for _, n := range []int{1000, 10_000, 20_000} {
		for name, limits := range map[string]budget.Limits{"unlimited": unlimited(), "default": budget.Default()} {
			b.Run(fmt.Sprintf("n=%d/%s", n, name), func(b *testing.B) {
				tr := translator.New(translator.Options{Budget: limits})
				put(b, tr, newNamespace(nil))
				if beside != nil {
					put(b, tr, beside(n)...)
				}
				long := policy(n)
				tr.Snapshot()
				b.ReportAllocs()
				for b.Loop() {
					put(b, tr, long)
					tr.Snapshot()
					tr.Remove("NetworkPolicy", long.Namespace, long.Name)
					tr.Snapshot()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/element")
			})
		}
	}
}

func longPolicy(rule networkingv1.NetworkPolicyIngressRule) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "long"},
		Spec:       networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{rule}},
	}
}

// BenchmarkLongPorts has n port ranges that do not touch.
func BenchmarkLongPorts(b *testing.B) {
	benchmarkLong(b, func(n int) *networkingv1.NetworkPolicy {
		var rule networkingv1.NetworkPolicyIngressRule
		for i := range n {
			first, last := intstr.FromInt32(int32(1+3*i)), int32(2+3*i)
			rule.Ports = append(rule.Ports, networkingv1.NetworkPolicyPort{Port: &first, EndPort: &last})
		}
		return longPolicy(rule)
	}, nil)
}

// BenchmarkLongResolvedPorts has one named port for which n pods have n numbers.
func BenchmarkLongResolvedPorts(b *testing.B) {
	benchmarkLong(b, func(int) *networkingv1.NetworkPolicy {
		name := intstr.FromString("p")
		return longPolicy(networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{{Port: &name}}})
	}, func(n int) []any {
		var pods []any
		for i := range n {
			address := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}).String()
			pods = append(pods, newPod(fmt.Sprintf("pod-%d", i), address, "db", map[string]int32{"p": int32(1 + i)}))
		}
		return pods
	})
}

// BenchmarkLongExcepts has n excepts that do not touch.
func BenchmarkLongExcepts(b *testing.B) {
	benchmarkLong(b, func(n int) *networkingv1.NetworkPolicy {
		block := &networkingv1.IPBlock{CIDR: "0.0.0.0/0"}
		for i := range n {
			block.Except = append(block.Except, netip.AddrFrom4([4]byte{byte(1 + i%200), byte(i >> 8), byte(i), 1}).String()+"/32")
		}
		return longPolicy(networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{IPBlock: block}}})
	}, nil)
}
