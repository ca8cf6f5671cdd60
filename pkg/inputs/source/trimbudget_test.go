package source_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
