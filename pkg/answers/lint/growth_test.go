package lint_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
)

// TestManyMisspeltLabels judges as many policies as there are pods, each with a label of its own, which is misspelt in one policy. All labels
// begin alike.
func TestManyMisspeltLabels(t *testing.T) {
	growth.NearlyLinear(t, 250, func(n int) func() {
		c := clusterOf(t, misspelt(n))
		return func() { lint.Run(c, lint.Options{}) }
	})
}

// TestPoliciesThatSelectAlike judges a policy for every five pods. With less than a comparison for each, none is compared with others, which has
// a budget of its own.
func TestPoliciesThatSelectAlike(t *testing.T) {
	for _, tc := range []struct {
		name string
		of   func(n int) *oracle.Cluster
	}{
		{"one of 20 namespaces each", policygen.Workload},
		{"all pods of one namespace", crowded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			growth.NearlyLinear(t, 500, func(n int) func() {
				c := clusterOf(t, tc.of(n))
				return func() { lint.Run(c, lint.Options{Budget: 1}) }
			})
		})
	}
}

// crowded has n pods in one namespace, and a policy of them all for every five.
func crowded(n int) *oracle.Cluster {
	c := &oracle.Cluster{Namespaces: []*corev1.Namespace{namespace("shop")}}
	for i := range n {
		c.Pods = append(c.Pods, pod(fmt.Sprintf("shop/pod-%d", i), fmt.Sprintf("service-%d", i%100), fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)))
	}
	everywhere := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{}}
	for i := range n / 5 {
		one := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("service-%d", i%100)}}}
		np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("policy-%d", i)}}
		np.Spec = networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{one, everywhere}}},
			Egress:      []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{everywhere}}},
		}
		c.Policies = append(c.Policies, np)
	}
	return c
}

// BenchmarkMisspeltLabels judges 1,000 and 10,000 such policies.
func BenchmarkMisspeltLabels(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		c := clusterOf(b, misspelt(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				lint.Run(c, lint.Options{})
			}
		})
	}
}

// misspelt has n pods, ten in each namespace, and a policy for each with a peer that has a typing error.
func misspelt(n int) *oracle.Cluster {
	c := &oracle.Cluster{}
	for i := range n {
		in, app := fmt.Sprintf("ns-%d", i/10), fmt.Sprintf("service-%d", i)
		if i%10 == 0 {
			c.Namespaces = append(c.Namespaces, namespace(in))
		}
		c.Pods = append(c.Pods, pod(in+"/"+app, app, fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)))
		labels := func(value string) metav1.LabelSelector {
			return metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}
		}
		wrong := labels("x" + app)
		np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: app}}
		np.Spec = networkingv1.NetworkPolicySpec{
			PodSelector: labels(app), PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &wrong}}}},
		}
		c.Policies = append(c.Policies, np)
	}
	return c
}
