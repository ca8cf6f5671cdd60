package lint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/lint"
)

// reported lists what lint reports of two rules about manifests.
func reported(t *testing.T, manifests string) []string {
	t.Helper()
	state := answerstest.StateOf(t, answerstest.ObjectsOf(t, manifests))
	report := lint.Run(&lint.Cluster{
		Snapshot: state.Snapshot, View: state.View, Pods: state.Objects.Pods, Policies: state.Objects.Policies, Services: state.Objects.Services,
	}, lint.Options{})
	var out []string
	for _, f := range report.Findings {
		switch f.Rule {
		case lint.HostNetwork, lint.ServicePort, lint.PeerMatchesNothing, lint.SelectsNothing:
			out = append(out, f.Field+" "+f.Rule+": "+f.Message)
		}
	}
	return out
}

// hostAndOther is a pod on the network of its node, and another; the policy is written after them.
const hostAndOther = `
{apiVersion: v1, kind: Pod, metadata: {name: agent-1, namespace: shop, labels: {app: agent, controller-revision-hash: a}}, spec: {hostNetwork: true}, status: {phase: Running, podIPs: [{ip: "fd00::7"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: agent-0, namespace: shop, labels: {app: agent, controller-revision-hash: b}}, spec: {hostNetwork: true}, status: {phase: Running, podIP: 172.18.0.7}}
---
{apiVersion: v1, kind: Pod, metadata: {name: done, namespace: shop, labels: {app: done}}, spec: {hostNetwork: true}, status: {phase: Succeeded, podIP: 172.18.0.7}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, labels: {app: web}}, spec: {containers: [{name: c, ports: [{containerPort: 8080}]}]}, status: {podIP: 10.0.0.1}}
---
`

func TestPodsOfTheHostNetwork(t *testing.T) {
	const peer = "spec.ingress[0].from[0] host-network: selects only pods on the networks of their nodes, such as shop/agent-0, which no selector " +
		"matches: name the addresses of the nodes in an ipBlock, such as 172.18.0.7/32"
	const web = "podSelector: {matchLabels: {app: web}}"
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"as a subject": {"podSelector: {matchLabels: {app: agent}}", []string{
			"spec.podSelector host-network: selects only pods on the networks of their nodes, such as shop/agent-0: policies do not apply to them",
		}},
		"as a peer":              {web + ", ingress: [{from: [{podSelector: {matchLabels: {app: agent}}}]}]", []string{peer}},
		"of a namespace":         {web + ", ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}, podSelector: {matchLabels: {app: agent}}}]}]", []string{peer}},
		"of another namespace":   {web + ", ingress: [{from: [{namespaceSelector: {matchLabels: {a: b}}, podSelector: {matchLabels: {app: agent}}}]}]", []string{"spec.ingress[0].from[0] peer-matches-nothing: matches no pod at present"}},
		"beside another pod":     {web + ", ingress: [{from: [{podSelector: {}}]}]", nil},
		"that has ended":         {web + ", ingress: [{from: [{podSelector: {matchLabels: {app: done}}}]}]", []string{"spec.ingress[0].from[0] peer-matches-nothing: matches no pod at present"}},
		"and a misspelled label": {web + ", ingress: [{from: [{podSelector: {matchLabels: {app: webb}}}]}]", []string{"spec.ingress[0].from[0] peer-matches-nothing: matches no pod at present; did you mean app=web?"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, reported(t, hostAndOther+"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x, namespace: shop}, spec: {"+tc.spec+"}}"))
		})
	}
}

// behindService has two pods behind a Service that translates 80 to 8080, and one that is not.
const behindService = `
{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop, labels: {app: web}}, status: {podIP: 10.0.0.1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, labels: {app: web}}, status: {podIP: 10.0.0.2}}
---
{apiVersion: v1, kind: Pod, metadata: {name: both, namespace: shop, labels: {app: both}}, spec: {containers: [{name: c, ports: [{containerPort: 80}]}]}, status: {podIP: 10.0.0.3}}
---
{apiVersion: v1, kind: Pod, metadata: {name: other, namespace: shop, labels: {app: other}}, status: {podIP: 10.0.0.4}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.96.0.1, ports: [{name: http, port: 80, targetPort: 8080}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}, addressType: IPv4,
 ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}, {addresses: [10.0.0.3]}]}
---
`

func TestPortsOfServices(t *testing.T) {
	const (
		message = " service-port: 80 is the port of Service shop/web; its pods listen on 8080, which is what policies see"
		web     = "podSelector: {matchLabels: {app: web}}"
	)
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"of the subject":                   {web + ", ingress: [{ports: [{port: 80}]}]", []string{"spec.ingress[0].ports[0].port" + message}},
		"of a peer":                        {"podSelector: {}, policyTypes: [Egress], egress: [{}, {to: [{" + web + "}], ports: [{port: 443}, {port: 80}]}]", []string{"spec.egress[1].ports[1].port" + message}},
		"the port of the pods":             {web + ", ingress: [{ports: [{port: 8080}]}]", nil},
		"both ports":                       {web + ", ingress: [{ports: [{port: 80}, {port: 8080}]}]", nil},
		"a pod that listens on both":       {"podSelector: {matchLabels: {app: both}}, ingress: [{ports: [{port: 80}]}]", nil},
		"also a pod without a Service":     {"podSelector: {matchExpressions: [{key: app, operator: In, values: [web, other]}]}, ingress: [{ports: [{port: 80}]}]", nil},
		"another protocol":                 {web + ", ingress: [{ports: [{port: 80, protocol: UDP}]}]", nil},
		"a range":                          {web + ", ingress: [{ports: [{port: 80, endPort: 90}]}]", nil},
		"peers that are addresses as well": {"podSelector: {}, policyTypes: [Egress], egress: [{to: [{" + web + "}, {ipBlock: {cidr: 192.0.2.0/24}}], ports: [{port: 80}]}]", nil},
		"every peer":                       {"podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 80}]}]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, reported(t, behindService+"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x, namespace: shop}, spec: {"+tc.spec+"}}"))
		})
	}
}
