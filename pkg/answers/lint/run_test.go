package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/object"
)

func TestRedundancy(t *testing.T) {
	const (
		all    = `{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}`
		toDB   = `{podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: api}}}], ports: [{port: 80}]}]}`
		deny   = `{podSelector: {}, policyTypes: [Ingress]}`
		listed = `{podSelector: {matchLabels: {app: db}}, ingress: [{ports: [{port: 80}, {port: 81}]}, {ports: [{port: 81}]}]}`
	)
	one := func(name, by string) string {
		return "NetworkPolicy/shop/" + name + " spec redundant-policy: without it every verdict is the same at present: NetworkPolicy/shop/" + by +
			" does the same for its pods [NetworkPolicy/shop/" + by + "]"
	}
	for _, tc := range []struct {
		name     string
		policies []string
		want     []string
	}{
		{"a wider policy", []string{"a " + toDB, "b " + all}, []string{one("a", "b")}},
		{"of two equal ones the first stays", []string{"b " + toDB, "a " + toDB}, []string{one("b", "a")}},
		{"a default states what holds", []string{"a " + deny, "b " + all}, nil},
		{"the rule goes, the isolation stays", []string{"a " + toDB, "b " + deny}, nil},
		{
			"the same pods by other labels", []string{"a " + toDB, `b {podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [api]}]},
				ingress: [{}]}`}, nil,
		},
		{"the same pods by more labels", []string{"a " + toDB, `b {podSelector: {matchLabels: {app: db, in: shop}}, ingress: [{from: [{podSelector: {}}]}]}`}, nil},
		{
			"the same selector in other words",
			[]string{"a " + toDB, `b {podSelector: {matchExpressions: [{key: app, operator: In, values: [db]}]}, ingress: [{from: [{podSelector: {}}]}]}`},
			[]string{one("a", "b")},
		},
		{"peers without pods", []string{`a {podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: x}}}]}]}`, "b " + all}, nil},
		{"two together", []string{
			`a {podSelector: {matchLabels: {app: db}}, ingress: [{from: [{ipBlock: {cidr: 192.0.2.0/24}}]}]}`,
			`b {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 192.0.2.0/25}}]}]}`, `c {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 192.0.2.128/25}}]}]}`,
		}, []string{"NetworkPolicy/shop/a spec redundant-policy: without it every verdict is the same at present: together, NetworkPolicy/shop/b, " +
			"NetworkPolicy/shop/c do the same for its pods [NetworkPolicy/shop/b] [NetworkPolicy/shop/c]"}},
		{"the other direction", []string{`a {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress, Egress], ingress: [{from: [{podSelector: {}}]}]}`, "b " + all}, []string{
			"NetworkPolicy/shop/a spec.ingress[0] redundant-rule: without it every verdict is the same at present: NetworkPolicy/shop/b spec.ingress[0] allow the same [NetworkPolicy/shop/b]",
		}},
		{"an earlier rule of the same policy", []string{`a {podSelector: {}, ingress: [{ports: [{port: 80}]}, {ports: [{port: 80}, {port: 81}]}]}`}, []string{
			"NetworkPolicy/shop/a spec.ingress[0] redundant-rule: without it every verdict is the same at present: NetworkPolicy/shop/a spec.ingress[1] allow the same",
		}},
		{"a rule of the same policy", []string{"a " + listed}, []string{
			"NetworkPolicy/shop/a spec.ingress[1] redundant-rule: without it every verdict is the same at present: NetworkPolicy/shop/a spec.ingress[0] allow the same",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, found(t, shop(t, tc.policies...), lint.RedundantPolicy, lint.RedundantRule))
		})
	}
}

func TestClusterRules(t *testing.T) {
	const isolated = `{podSelector: {}, policyTypes: [Ingress, Egress], egress: [{ports: [{port: 53, protocol: UDP}]}]}`
	for _, tc := range []struct {
		name, rule string
		policies   []string
		want       []string
	}{
		{"a rule without from", lint.AllowFromAnywhere, []string{`a {podSelector: {matchLabels: {app: db}}, ingress: [{ports: [{port: web}]}]}`}, []string{
			"NetworkPolicy/shop/a spec.ingress[0] allow-from-anywhere: admits every pod and every address to tcp/8080 of 1 pod",
		}},
		{"everyone for no pod", lint.AllowFromAnywhere, []string{`a {podSelector: {matchLabels: {app: x}}, ingress: [{}]}`}, nil},
		{"all namespaces are not the world", lint.OpenToWorld, []string{`a {podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}`}, nil},
		{
			"the world without private networks", lint.OpenToWorld,
			[]string{`a {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 192.168.0.0/16]}}]}]}`},
			[]string{"NetworkPolicy/shop/a spec.ingress[0].from open-to-world: admits most addresses outside the cluster to any of 2 pods"},
		},
		{"the world in two halves", lint.OpenToWorld, []string{
			`a {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/1}}, {ipBlock: {cidr: 128.0.0.0/1}}]}]}`,
		}, []string{"NetworkPolicy/shop/a spec.ingress[0].from open-to-world: admits most addresses outside the cluster to any of 2 pods"}},
		{"a network", lint.OpenToWorld, []string{`a {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}`}, nil},
		{"egress without DNS", lint.NoDNS, []string{
			`z {podSelector: {matchLabels: {app: db}}, policyTypes: [Egress]}`,
			`b {podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 443}]}]}`,
		}, []string{"NetworkPolicy/shop/b spec no-dns: isolates 2 pods for egress, and no policy allows DNS (udp/53): shop/api-0, shop/db-0"}},
		{"DNS for one of them", lint.NoDNS, []string{
			`a {podSelector: {matchLabels: {app: db}}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {}}], ports: [{port: 53, protocol: UDP}]}]}`,
			`b {podSelector: {}, policyTypes: [Egress]}`,
		}, []string{"NetworkPolicy/shop/b spec no-dns: isolates 1 pod for egress, and no policy allows DNS (udp/53): shop/api-0"}},
		{"DNS to no pod", lint.NoDNS, []string{
			`b {podSelector: {}, policyTypes: [Egress], egress: [{to: [{podSelector: {matchLabels: {app: x}}}], ports: [{port: 53, protocol: UDP}]}]}`,
		}, []string{"NetworkPolicy/shop/b spec no-dns: isolates 2 pods for egress, and no policy allows DNS (udp/53): shop/api-0, shop/db-0"}},
		{"DNS on every port", lint.NoDNS, []string{"b " + isolated}, nil},
		{"a namespace without policies", lint.UnisolatedNamespace, []string{"b " + isolated}, []string{
			"Namespace/kube-system  unisolated-namespace: no policy isolates a pod of this namespace, which has 1 pod",
		}},
		{"a pod without policies", lint.UnisolatedPods, []string{`a {podSelector: {matchLabels: {app: db}}, ingress: []}`}, []string{
			"Namespace/shop  unisolated-pods: not isolated for ingress, 1 of 2 pods: api-0",
		}},
		{"open egress", lint.UnisolatedEgress, []string{`a {podSelector: {}, ingress: []}`}, []string{
			"Namespace/shop  unisolated-egress: not isolated for egress, 2 of 2 pods: api-0, db-0",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, found(t, shop(t, tc.policies...), tc.rule))
		})
	}
}

func TestDNSBehindAnotherPort(t *testing.T) {
	const spec = `b {podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {}}], ports: [{port: 5353, protocol: UDP}]}]}`
	c := shop(t, spec)
	require.Len(t, found(t, c, lint.NoDNS), 1)
	c.Services = []*corev1.Service{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "dns"},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.96.0.10", ClusterIPs: []string{"10.96.0.10"}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []corev1.ServicePort{{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}},
		},
	}}
	c.Slices = slicesOf("kube-system", "dns", 5353, "10.0.1.1")
	require.Empty(t, found(t, c, lint.NoDNS))
}

func TestClusterIPInABlock(t *testing.T) {
	block := func(cidr string, excepts ...string) string {
		return fmt.Sprintf("a {podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: %s, except: [%s]}}]}]}", cidr, strings.Join(excepts, ", "))
	}
	for _, tc := range []struct {
		name, policy string
		madeUp, want bool
	}{
		{"the address itself", block("10.96.0.10/32"), false, true},
		{"the network of Services", block("10.96.0.0/12"), false, true},
		{"everything", block("10.0.0.0/8"), false, false},
		{"excluded", block("10.96.0.0/12", "10.96.0.0/24"), false, false},
		{"with a pod", block("10.0.0.0/12"), false, false},
		{"an address that stands for an unknown one", block("10.96.0.10/32"), true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := shop(t, tc.policy)
			s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
			s.Spec.ClusterIP = "10.96.0.10"
			c.Services = []*corev1.Service{s}
			judged := clusterOf(t, c)
			judged.MadeUp = func(a addr) bool { return tc.madeUp && a.String() == "10.96.0.10" }
			var got []string
			for _, f := range lint.Run(judged, lint.Options{}).Findings {
				if f.Rule == lint.ClusterIPBlock {
					got = append(got, f.Text())
				}
			}
			require.Equal(t, tc.want, len(got) == 1, got)
			if tc.want {
				require.Contains(t, got[0], "spec.egress[0].to[0].ipBlock.cidr: 10.96.0.")
				require.Contains(t, got[0], "contains 10.96.0.10, the cluster IP of Service shop/db, and no pod")
			}
		})
	}
}

func TestPrecedence(t *testing.T) {
	c := shop(t, `a {podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}`)
	clusterPolicy(t, c, "first", `{tier: Admin, priority: 1, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}]},
		{action: Accept, from: [{namespaces: {}}]}]}`)
	clusterPolicy(t, c, "second", `{tier: Admin, priority: 2, subject: {namespaces: {matchLabels: {team: nobody}}}, ingress: [{action: Accept, from: [{namespaces: {}}]}]}`)
	require.Equal(t, []string{
		"ClusterNetworkPolicy/first spec.ingress[1] unreachable-rule: spec.ingress[1] never matches at present: what it matches is decided before by " +
			"ClusterNetworkPolicy/first spec.ingress[0]",
		"ClusterNetworkPolicy/second spec.subject selects-nothing: selects no pod at present",
		"NetworkPolicy/shop/a spec.ingress[0] unreachable-rule: spec.ingress[0] never matches at present: what it matches is decided before by " +
			"ClusterNetworkPolicy/first spec.ingress[0] [ClusterNetworkPolicy/first]",
	}, found(t, c, lint.UnreachableRule, lint.OverriddenPolicy, lint.SelectsNothing))
	require.Empty(t, found(t, c, lint.UnisolatedNamespace), "a cluster-wide policy protects them")
}

// TestWhatTheBudgetLeavesIsReported gives lint no comparisons, and one object too many.
func TestWhatTheBudgetLeavesIsReported(t *testing.T) {
	c := shop(t, `a {podSelector: {}, ingress: [{}, {}]}`, `b {podSelector: {}, ingress: [{}, {}]}`)
	report := lint.Run(clusterOf(t, c), lint.Options{Budget: 1})
	require.Equal(t, []string{"which policies and rules are redundant, from NetworkPolicy/shop/a on: there are too many to compare"}, report.NotExamined)
	require.NotEmpty(t, report.Findings, "the others are found")
	require.Empty(t, lint.Run(clusterOf(t, c), lint.Options{Skip: lint.IDs()}).Findings)
}

func TestEveryRuleIsDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range lint.Rules() {
		require.False(t, seen[r.ID], r.ID)
		seen[r.ID] = true
		require.Regexp(t, `^[a-z]+(-[a-z]+)+$`, r.ID)
		for _, text := range []string{r.Doc, r.Remedy} {
			require.True(t, strings.HasSuffix(text, "."), "%s: %s", r.ID, text)
		}
		var s lint.Severity
		require.NoError(t, s.UnmarshalText([]byte(r.Severity.String())))
		require.Equal(t, r.Severity, s)
	}
	require.Error(t, new(lint.Severity).UnmarshalText([]byte("fatal")))
}

func TestProblemsAreErrors(t *testing.T) {
	c := clusterOf(t, shop(t))
	c.Problems = []object.Problem{{Ref: object.Ref{Kind: "NetworkPolicy", Name: "x"}, Field: "spec", Message: "odd", Place: object.Place{Path: "a.yaml", Line: 3}}}
	f := lint.Run(c, lint.Options{}).Findings
	require.Equal(t, lint.Error, f[len(f)-1].Severity)
	require.Equal(t, "a.yaml:3", f[len(f)-1].Place.String())
}
