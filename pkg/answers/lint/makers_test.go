package lint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
)

// withoutDNS removes what serves DNS.
func withoutDNS(c *oracle.Cluster) *oracle.Cluster {
	c.Pods = c.Pods[:2]
	return c
}

// TestUnknownPods judges one policy of namespace shop by manifests, which may be a part of what a cluster has, and by a whole cluster.
func TestUnknownPods(t *testing.T) {
	const (
		toDNS   = `egress: [{to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}, podSelector: {matchLabels: {k8s-app: kube-dns}}}], ports: [PORTS]}]`
		byCR    = "NetworkPolicy/shop/x spec.podSelector unknown-pods: selects no pod that is known, but perhaps pods that are created by Database/shop/main"
		missing = "NetworkPolicy/shop/x spec.podSelector selects-nothing: selects no pod at present"
		from    = "NetworkPolicy/shop/x spec.ingress[0].from[0] "
	)
	dns := func(ports string) string {
		return `{podSelector: {}, policyTypes: [Egress], ` + strings.ReplaceAll(toDNS, "PORTS", ports) + `}`
	}
	ingress := func(from string) string { return `{podSelector: {}, ingress: [{from: [` + from + `]}]}` }
	for _, tc := range []struct {
		name, policy string
		makers       *lint.Makers
		change       func(*oracle.Cluster) *oracle.Cluster
		want         []string
	}{
		{"a resolver that no manifest declares", dns("{port: 53, protocol: UDP}, {port: 53}"), &lint.Makers{}, withoutDNS, nil},
		{"one on another port", dns("{port: 5353, protocol: UDP}"), &lint.Makers{}, withoutDNS, nil},
		{"one on a named port", dns("{port: dns, protocol: UDP}, {port: dns-tcp}"), &lint.Makers{}, withoutDNS, nil},
		{"one by TCP alone", dns("{port: 53, protocol: TCP}"), &lint.Makers{}, withoutDNS, []string{
			"NetworkPolicy/shop/x spec no-dns: isolates 2 pods for egress, and no policy allows DNS (udp/53): shop/api-0, shop/db-0",
		}},
		{"nothing that resolves", dns("{port: 443}"), &lint.Makers{}, withoutDNS, []string{
			"NetworkPolicy/shop/x spec no-dns: isolates 2 pods for egress, and no policy allows DNS (udp/53): shop/api-0, shop/db-0",
			"NetworkPolicy/shop/x spec.egress[0].to[0] unknown-pods: matches no pod that is known, but perhaps pods of namespace kube-system, of which none are known",
		}},
		{"a resolver that a cluster does not have", dns("{port: 53, protocol: UDP}"), nil, withoutDNS, []string{
			"NetworkPolicy/shop/x spec no-dns: isolates 2 pods for egress, and no policy allows DNS (udp/53): shop/api-0, shop/db-0",
			"NetworkPolicy/shop/x spec.egress[0].to[0] peer-matches-nothing: matches no pod at present",
		}},
		{"a resolver that is declared with other labels", dns("{port: 53, protocol: UDP}"), &lint.Makers{}, func(c *oracle.Cluster) *oracle.Cluster {
			c.Pods[2].Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 53, Protocol: corev1.ProtocolUDP}}
			return c
		}, []string{
			"NetworkPolicy/shop/x spec no-dns: isolates 2 pods for egress, and no policy allows DNS (udp/53): shop/api-0, shop/db-0",
			"NetworkPolicy/shop/x spec.egress[0].to[0] peer-matches-nothing: matches no pod at present",
		}},

		{"pods of an operator", `{podSelector: {matchLabels: {cluster: main}}}`, made("shop"), nil, []string{byCR}},
		{"an operator of another namespace", `{podSelector: {matchLabels: {cluster: main}}}`, made("other"), nil, []string{missing}},
		{"a cluster, where all pods are known", `{podSelector: {matchLabels: {cluster: main}}}`, nil, nil, []string{missing}},
		{"a typing error", `{podSelector: {matchLabels: {app: appi}}}`, made("shop"), nil, []string{missing + "; did you mean app=api?"}},

		{"a peer of an operator", ingress(`{podSelector: {matchLabels: {cluster: main}}}`), made("shop"), nil, []string{
			from + "unknown-pods: matches no pod that is known, but perhaps pods that are created by Database/shop/main",
		}},
		{"a peer that nothing makes", ingress(`{podSelector: {matchLabels: {cluster: main}}}`), &lint.Makers{}, nil, []string{
			from + "peer-matches-nothing: matches no pod at present",
		}},
		{"a peer in any namespace", ingress(`{namespaceSelector: {}, podSelector: {matchLabels: {cluster: main}}}`), &lint.Makers{}, nil, []string{
			from + "unknown-pods: matches no pod that is known, but perhaps pods of other namespaces",
		}},
		{
			"a peer in a namespace with pods", ingress(`{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}, podSelector: {matchLabels: {app: ingress}}}`),
			&lint.Makers{}, nil,
			[]string{from + "peer-matches-nothing: matches no pod at present"},
		},
		{"a peer in a misspelt namespace", ingress(`{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-sistem}}}`), &lint.Makers{}, nil, []string{
			from + "peer-matches-nothing: matches no pod at present; did you mean kubernetes.io/metadata.name=kube-system?",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := shop(t, "x "+tc.policy)
			if tc.change != nil {
				c = tc.change(c)
			}
			of := clusterOf(t, c)
			of.Makers = tc.makers
			var got []string
			for _, f := range lint.Run(of, lint.Options{}).Findings {
				switch f.Rule {
				case lint.NoDNS, lint.SelectsNothing, lint.PeerMatchesNothing, lint.UnknownPods:
					got = append(got, f.Ref.Path()+" "+f.Field+" "+f.Rule+": "+f.Message)
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// TestNothingIsRedundantBecauseOthersAreUnknown has a policy that allows pods of any namespace, of which only its own is known.
func TestNothingIsRedundantBecauseOthersAreUnknown(t *testing.T) {
	c := shop(t, `a {podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}`, `b {podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}`,
		`c {podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}`)
	c.Pods = c.Pods[:2]
	of := clusterOf(t, c)
	redundant := func() (names []string) {
		for _, f := range lint.Run(of, lint.Options{}).Findings {
			if f.Rule == lint.RedundantPolicy || f.Rule == lint.RedundantRule {
				names = append(names, f.Ref.Name)
			}
		}
		return names
	}
	require.Equal(t, []string{"b", "c"}, redundant())
	of.Makers = &lint.Makers{}
	require.Equal(t, []string{"a", "c"}, redundant(), "b allows more than a")
}

// TestPodsOfTestsNeedNoIsolation has a pod that is not isolated and exists only while a chart is tested.
func TestPodsOfTestsNeedNoIsolation(t *testing.T) {
	c := shop(t, `x {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress, Egress]}`)
	of := clusterOf(t, c)
	count := func() (n int) {
		for _, f := range lint.Run(of, lint.Options{}).Findings {
			if f.Rule == lint.UnisolatedPods {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, count())
	of.Passing = map[object.Key]bool{{Namespace: "shop", Name: "api-0"}: true}
	require.Zero(t, count())
}

func made(namespace string) *lint.Makers {
	m := &lint.Makers{}
	m.Add(namespace, "Database/"+namespace+"/main")
	return m
}
