package translator_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
)

// small is a budget that short manifests go beyond.
func small() budget.Limits {
	return budget.Limits{
		budget.Prefixes: 8, budget.Selectors: 6, budget.Values: 6, budget.Rules: 6, budget.Ports: 4, budget.Frontends: 6, budget.Backends: 8,
	}
}

func startSmall(t testing.TB, objects ...any) (*translator.Translator, *intent.Snapshot) {
	t.Helper()
	tr := translator.New(translator.Options{Budget: small()})
	put(t, tr, objects...)
	return tr, tr.Snapshot()
}

// numbered returns n pods of an app that declare the port "p", each with a number of its own.
func numbered(app string, n int) []any {
	var out []any
	for i := range n {
		out = append(out, newPod(fmt.Sprintf("%s%d", app, i), fmt.Sprintf("10.1.0.%d", i), app, map[string]int32{"p": int32(8000 + i)}))
	}
	return out
}

func TestAPolicyBeyondItsBudgetAllowsNothing(t *testing.T) {
	for _, tc := range []struct{ name, spec, want string }{
		{"prefixes", `{podSelector: {}, ingress: [{}, {from: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.1/32]}}]}]}`, "more than 8 prefixes"},
		{"prefixes of several blocks", `{podSelector: {}, ingress: [{}, {from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.8.0.0/13]}}]},
			{from: [{ipBlock: {cidr: 11.0.0.0/8, except: [11.8.0.0/13]}}]}]}`, "more than 8 prefixes"},
		{"prefixes of egress", `{podSelector: {}, egress: [{}, {to: [{ipBlock: {cidr: "::/0", except: ["fd00::/16"]}}]}]}`, "more than 8 prefixes"},
		{"selectors", `{podSelector: {}, ingress: [{}, {from: [` + strings.Repeat(`{podSelector: {}}, `, 7) + `]}]}`, "more than 6 selectors"},
		{
			"values of a peer", `{podSelector: {}, ingress: [{}, {from: [{podSelector: {matchExpressions: [{key: a, operator: In, values: [a, b, c, d, e, f]}]}}]}]}`,
			"more than 6 selector values",
		},
		{
			"values of a namespace selector", `{podSelector: {}, ingress: [{}, {from: [{namespaceSelector: {matchExpressions: [{key: a, operator: NotIn, values: [a, b, c, d, e, f]}]}}]}]}`,
			"more than 6 selector values",
		},
		{"values of the subject", `{podSelector: {matchExpressions: [{key: a, operator: NotIn, values: [a, b, c, d, e, f]}]}, ingress: [{}]}`, "more than 6 selector values"},
		{"rules", `{podSelector: {}, ingress: [{}, {}, {}, {}, {}, {}, {}]}`, "more than 6 rules"},
		{"rules of both directions", `{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{}, {}, {}, {}], egress: [{}, {}, {}, {}]}`, "more than 6 rules"},
		{"port ranges", `{podSelector: {}, ingress: [{}, {ports: [{port: 1}, {port: 3}, {port: 5}, {port: 7}, {port: 9}]}]}`, "more than 4 port ranges"},
		{"names of ports", `{podSelector: {}, egress: [{}, {to: [{podSelector: {}}, {podSelector: {}}], ports: [{port: a}, {port: b}, {port: c}]}]}`, "more than 6 selectors"},
		{"resolved ports of its pods", `{podSelector: {}, ingress: [{}, {ports: [{port: p}]}]}`, "more than 6 selectors"},
		{"resolved ports of peers", `{podSelector: {}, egress: [{}, {ports: [{port: p}]}]}`, "more than 6 selectors"},
		{
			"resolved ports within prefixes", `{podSelector: {}, egress: [{}, {to: [{ipBlock: {cidr: 10.0.0.0/8}}, {ipBlock: {cidr: 12.0.0.0/8}}], ports: [{port: p}]}]}`,
			"more than 6 selectors",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			policy := newPolicy(t, "p", tc.spec)
			objects := append(numbered("db", 7), newNamespace(nil), policy, newPolicy(t, "other", webToDB))
			tr, s := startSmall(t, objects...)
			require.Contains(t, messages(tr), tc.want)
			require.Contains(t, messages(tr), "NetworkPolicy/shop/p: spec")
			require.NotContains(t, messages(tr), "NetworkPolicy/shop/other")
			found := 0
			for p := range s.Policies() {
				if p.Origin.Name != "p" {
					require.NotEmpty(t, p.Rules, "another policy is as it was")
					continue
				}
				found++
				require.True(t, p.Isolates)
				require.Empty(t, p.Rules, "not even the rule that is within the budget")
				require.Equal(t, 7, s.Set(p.Subject).Len(), "it isolates what it selects")
			}
			require.NotZero(t, found)
			for _, o := range objects {
				remove(tr, o)
			}
			tr.Snapshot()
			require.True(t, translator.Empty(tr), "what its rules retained was released")
		})
	}
}

// A policy may go beyond its budget because of pods. With fewer of them it is as it ever was.
func TestAPolicyIsBackWithinItsBudgetWithFewerPods(t *testing.T) {
	for _, spec := range []string{
		`{podSelector: {}, ingress: [{}, {ports: [{port: p}, {port: q}]}]}`,
		`{podSelector: {}, egress: [{}, {ports: [{port: q}, {port: p}]}]}`,
	} {
		pods := numbered("db", 6)
		policy := newPolicy(t, "p", spec)
		tr, s := startSmall(t, append(pods[:2:2], newNamespace(nil), policy)...)
		before := dump(s)
		require.Empty(t, tr.Problems())
		put(t, tr, pods...)
		over := dump(tr.Snapshot())
		require.Len(t, tr.Problems(), 1)
		_, fresh := startSmall(t, append(pods, newNamespace(nil), policy)...)
		require.Equal(t, dump(fresh), over, "from scratch it is the same")
		for _, p := range pods[2:] {
			remove(tr, p)
		}
		require.Equal(t, before, dump(tr.Snapshot()))
		require.Empty(t, tr.Problems())
	}
}

func TestAServiceBeyondItsBudgetLeadsNowhere(t *testing.T) {
	for _, tc := range []struct{ name, spec, want string }{
		{"frontends", `{clusterIP: 10.96.0.1, externalIPs: [192.0.2.1, 192.0.2.2, 192.0.2.3], ports: [{name: a, port: 80}, {name: b, port: 81}]}`, "more than 6 frontends"},
		{"addresses of nodes", `{type: NodePort, clusterIP: 10.96.0.1, ports: [{name: a, port: 80, nodePort: 30080}, {name: b, port: 81, nodePort: 30081}]}`, "more than 6 frontends"},
		{"backends", `{clusterIP: 10.96.0.1, externalIPs: [192.0.2.1, 192.0.2.2], ports: [{port: 80}]}`, "more than 8 backends"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr, s := startSmall(t, newService(t, "web", 1, tc.spec), newSlice("w", "web", "10.0.0.1", "10.0.0.2", "10.0.0.3"),
				newNode("n1", "172.16.0.1"), newNode("n2", "172.16.0.2"), newNode("n3", "172.16.0.3"),
				newService(t, "other", 2, other), newSlice("o", "other", "10.0.0.4"))
			require.Contains(t, messages(tr), tc.want)
			require.Equal(t, "-", backends(s, "web"))
			require.Equal(t, "10.0.0.4", backends(s, "other"), "another service is as it was")
		})
	}
}

// A Service that is beyond its budget for a while does not lose its address to another.
func TestAServiceBeyondItsBudgetKeepsItsAddress(t *testing.T) {
	for _, tc := range []struct{ name, spec string }{
		{"backends", `{clusterIP: 10.96.0.1, externalIPs: [192.0.2.1, 192.0.2.2, 192.0.2.3], ports: [{port: 80}]}`},
		{"frontends", `{clusterIP: 10.96.0.1, externalIPs: [192.0.2.1], ports: [{name: a, port: 80}, {name: b, port: 81}, {name: c, port: 82}, {name: d, port: 83}]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			slice := newSlice("w", "web", "10.0.0.1", "10.0.0.2")
			thief := newService(t, "thief", 2, `{clusterIP: 10.96.0.9, externalIPs: [192.0.2.1], ports: [{port: 80}]}`)
			older := newService(t, "web", 1, tc.spec)
			tr, s := startSmall(t, older, slice, thief, newSlice("t", "thief", "10.0.0.9"))
			require.Contains(t, messages(tr), "Service/shop/web: spec: it needs more than")
			require.Contains(t, messages(tr), "Service/shop/thief: spec.ports[0]: tcp/192.0.2.1:80 belongs to Service/shop/web")
			require.Equal(t, "-", backends(s, "web"))
			for _, f := range s.LoadBalancer("Service/shop/thief").Frontends {
				require.Equal(t, intent.ClusterAddress, f.Kind)
			}

			put(t, tr, newService(t, "web", 1, `{clusterIP: 10.96.0.1, externalIPs: [192.0.2.1], ports: [{port: 80}]}`))
			require.Equal(t, "10.0.0.1 10.0.0.2", backends(tr.Snapshot(), "web"), "within its budget again")
			put(t, tr, older)
			require.Equal(t, dump(s), dump(tr.Snapshot()))
			remove(tr, older)
			require.Len(t, tr.Snapshot().LoadBalancer("Service/shop/thief").Frontends, 2, "it gives its address up when it is deleted")
			require.Empty(t, tr.Problems())
		})
	}
}

func TestAServiceIsBackWithinItsBudgetWithFewerNodes(t *testing.T) {
	service := newService(t, "web", 1, `{type: NodePort, clusterIP: 10.96.0.1, ports: [{port: 80, nodePort: 30080}]}`)
	nodes := []any{newNode("n1", "172.16.0.1", "172.16.0.2", "172.16.0.3"), newNode("n2", "172.16.0.4", "172.16.0.5", "172.16.0.6")}
	tr, s := startSmall(t, append(nodes, service, newSlice("w", "web", "10.0.0.1"))...)
	require.Equal(t, "-", backends(s, "web"))
	remove(tr, nodes[1])
	require.Equal(t, "10.0.0.1", backends(tr.Snapshot(), "web"))
	require.Empty(t, tr.Problems())
}

func TestSourceRangesBeyondTheBudgetAdmitNothing(t *testing.T) {
	for _, ranges := range []string{`[10.1.2.3/32]`, `[10.0.0.0/8, "fd00::/8", 172.16.0.0/12, 192.168.0.0/16]`} {
		service := newService(t, "web", 1, `{type: LoadBalancer, clusterIP: 10.96.0.1, ports: [{port: 80}], loadBalancerSourceRanges: `+ranges+`}`)
		service.Status.LoadBalancer.Ingress = append(service.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: "192.0.2.1"})
		tr, s := startSmall(t, service, newSlice("w", "web", "10.0.0.1"))
		require.Contains(t, messages(tr), "spec.loadBalancerSourceRanges: denying all other sources needs more than")
		denied := 0
		for _, f := range s.LoadBalancer("Service/shop/web").Frontends {
			if f.Kind != intent.IngressAddress {
				require.Empty(t, f.Denied)
				continue
			}
			denied++
			require.Equal(t, []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}, f.Denied)
		}
		require.Equal(t, 1, denied)
	}
}

func TestProblemsOfAnObjectHaveAnEnd(t *testing.T) {
	spec := `{podSelector: {}, ingress: [{ports: [` + strings.Repeat(`{port: 70000}, `, 1000) + `]}]}`
	tr, _ := start(t, newPolicy(t, "p", spec))
	require.Len(t, tr.Problems(), 65)
	require.Contains(t, messages(tr), "only the first 64 problems are shown")
}
