package source_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/translator"
)

// TestTrimBeyondBudget trims policies around the budget of one object. Whether a policy is refused, and why, is as before; what is kept of
// one that is refused is small, and no rule has become one for all peers.
func TestTrimBeyondBudget(t *testing.T) {
	rules := func(n, peers int) []networkingv1.NetworkPolicyIngressRule {
		out := make([]networkingv1.NetworkPolicyIngressRule, n)
		for i := range out {
			for range peers {
				out[i].From = append(out[i].From, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}})
			}
		}
		return out
	}
	blocks := rules(1, 1)
	for range 3000 {
		blocks[0].From = append(blocks[0].From, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}})
	}
	for _, tc := range []struct {
		name    string
		rules   []networkingv1.NetworkPolicyIngressRule
		refused bool
		kept    int // peers and rules without peers
	}{
		{"no rules", nil, false, 0},
		{"as many rules as there may be", rules(4000, 0), false, 4000},
		{"one more", rules(4001, 0), true, 4001},
		{"as many as the API takes", rules(800_000, 0), true, 4001},
		{"as many selectors as there may be", rules(20, 100), false, 2000},
		{"one more", append(rules(20, 100), rules(1, 1)...), true, 2001},
		{"as many as the API takes in one rule", rules(1, 400_000), true, 2001},
		{"as many as the API takes in several", rules(4, 100_000), true, 2001 + 3},
		{"as many as the API takes in many", rules(3000, 100), true, 2100 + 2979},
		{"more blocks than selectors", blocks, false, 3001},
	} {
		t.Run(tc.name, func(t *testing.T) {
			policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "np"}, Spec: networkingv1.NetworkPolicySpec{Ingress: tc.rules}}
			whole := problemsOf(t, policy)
			require.Equal(t, tc.refused, len(whole) > 0, "%v", whole)
			trimmed := policy.DeepCopy()
			trim(t, trimmed)
			require.Equal(t, whole, problemsOf(t, trimmed))
			kept := 0
			for i, r := range trimmed.Spec.Ingress {
				require.Equal(t, len(tc.rules[i].From) == 0, len(r.From) == 0)
				kept += max(len(r.From), 1)
			}
			require.LessOrEqual(t, kept, tc.kept)
			if !tc.refused {
				require.Equal(t, policy.Spec, trimmed.Spec)
			}
		})
	}
}

// TestTrimBeyondBudgetOtherShapes does so with what else there may be much of in a policy.
func TestTrimBeyondBudgetOtherShapes(t *testing.T) {
	numbered := func(n, step int) networkingv1.NetworkPolicySpec {
		var r networkingv1.NetworkPolicyIngressRule
		for i := range n {
			port := intstr.FromInt32(int32(1 + i*step%65535))
			r.Ports = append(r.Ports, networkingv1.NetworkPolicyPort{Protocol: protocolOf(i * step / 65535), Port: &port})
		}
		return networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{r}}
	}
	spread := func(spec networkingv1.NetworkPolicySpec, size int) networkingv1.NetworkPolicySpec {
		var out networkingv1.NetworkPolicySpec
		for ports := range slices.Chunk(spec.Ingress[0].Ports, size) {
			out.Egress = append(out.Egress, networkingv1.NetworkPolicyEgressRule{Ports: ports})
		}
		return out
	}
	blocks := func(n, excepts, step, rules int) networkingv1.NetworkPolicySpec {
		out := networkingv1.NetworkPolicySpec{Ingress: make([]networkingv1.NetworkPolicyIngressRule, rules)}
		for i := range n {
			b := networkingv1.IPBlock{CIDR: "10.0.0.0/8"}
			for k := range excepts {
				a := k * step
				b.Except = append(b.Except, fmt.Sprintf("10.%d.%d.%d/32", a>>16&255, a>>8&255, a&255))
			}
			from := &out.Ingress[i%rules].From
			*from = append(*from, networkingv1.NetworkPolicyPeer{IPBlock: &b})
		}
		return out
	}
	labels := func(n int) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprint("l", i)] = ""
		}
		return out
	}
	subject := func(n int) networkingv1.NetworkPolicySpec {
		return networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: labels(n)}}
	}
	peers := func(n, rules int) networkingv1.NetworkPolicySpec {
		out := networkingv1.NetworkPolicySpec{Ingress: make([]networkingv1.NetworkPolicyIngressRule, rules)}
		for i := range out.Ingress {
			values := metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: slices.Sorted(maps.Keys(labels(n)))}
			out.Ingress[i].From = []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{values}}}}
		}
		return out
	}
	for _, tc := range []struct {
		name    string
		spec    networkingv1.NetworkPolicySpec
		refused string // the unit, "" if it is not
		size    int    // most bytes of what is kept, in the encoding of the API
	}{
		{"as many ports as there may be", numbered(4000, 2), "", 0},
		{"one more", numbered(4001, 2), "port ranges", 80_000},
		{"as many as the API takes", numbered(90_000, 2), "port ranges", 200_000},
		{"as many, of which many are equal", numbered(90_000, 51), "", 0},
		{"as many that are one range", numbered(65_000, 1), "", 0},
		{"as many in several rules", spread(numbered(90_000, 2), 3000), "port ranges", 200_000},
		{"as many blocks as there may be", blocks(20_000, 0, 0, 1), "", 0},
		{"one more block", blocks(20_001, 0, 0, 1), "prefixes", 500_000},
		{"as many blocks as the API takes", blocks(90_000, 0, 0, 1), "prefixes", 500_000},
		{"in several rules", blocks(90_000, 0, 0, 40), "prefixes", 500_000},
		{"excepts within the budget", blocks(1, 1500, 16, 1), "", 0},
		{"as many excepts as the API takes", blocks(1, 80_000, 16, 1), "prefixes", 150_000},
		{"as many, of which many are equal", blocks(1, 80_000, 1<<14, 1), "", 0},
		{"excepts of several blocks", blocks(20, 3000, 16, 5), "prefixes", 150_000},
		{"as many labels as there may be", subject(20_000), "", 0},
		{"one more label", subject(20_001), "selector values", 300_000},
		{"as many labels as the API takes", subject(100_000), "selector values", 300_000},
		{"as many values as there may be", peers(19_999, 1), "", 0},
		{"values of one peer", peers(100_000, 1), "selector values", 300_000},
		{"values of several peers", peers(15_000, 6), "selector values", 300_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "np"}, Spec: tc.spec}
			whole := problemsOf(t, policy)
			trimmed := policy.DeepCopy()
			trim(t, trimmed)
			require.Equal(t, whole, problemsOf(t, trimmed))
			if tc.refused == "" {
				require.Empty(t, whole)
				require.Equal(t, policy.Spec, trimmed.Spec)
				return
			}
			require.Len(t, whole, 1)
			require.Contains(t, whole[0], tc.refused)
			require.LessOrEqual(t, trimmed.Size(), tc.size)
			for i, r := range trimmed.Spec.Ingress {
				require.Equal(t, len(policy.Spec.Ingress[i].From) == 0, len(r.From) == 0, "no rule has become one for all peers")
				require.Equal(t, len(policy.Spec.Ingress[i].Ports) == 0, len(r.Ports) == 0, "or for all ports")
			}
			for _, r := range trimmed.Spec.Egress {
				require.NotEmpty(t, r.Ports)
			}
		})
	}
}

func protocolOf(i int) *corev1.Protocol {
	return new([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}[i%3])
}

// problemsOf translates a policy alone.
func problemsOf(t *testing.T, p *networkingv1.NetworkPolicy) []string {
	t.Helper()
	translated := translator.New(translator.Options{})
	require.NoError(t, translated.Put(p))
	translated.Snapshot()
	var out []string
	for _, problem := range translated.Problems() {
		out = append(out, problem.Error())
	}
	return out
}
