package network_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/offline"
)

// load reads manifests in which "pod NS/NAME ADDRESS" is a pod, without an address if there is none, and "labelled NS" a namespace with the
// label for primary networks.
func load(t *testing.T, manifests string) *world.World {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(manifests) {
		words := strings.Fields(line)
		switch {
		case len(words) > 1 && words[0] == "pod":
			namespace, name, _ := strings.Cut(words[1], "/")
			b.WriteString("---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: " + namespace + ", labels: {app: " + name +
				", k8s-app: " + name + "}}, spec: {containers: [{name: c, image: x}]}")
			if len(words) > 2 {
				b.WriteString(", status: {podIP: " + words[2] + "}")
			}
			b.WriteString("}\n---\n")
		case len(words) > 1 && words[0] == "labelled":
			b.WriteString("---\n{apiVersion: v1, kind: Namespace, metadata: {name: " + words[1] + ", labels: {team: " + words[1] +
				", k8s.ovn.org/primary-user-defined-network: \"\"}}}\n---\n")
		default:
			b.WriteString(line)
		}
	}
	path := filepath.Join(t.TempDir(), "objects.yaml")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	state, err := offline.Load(offline.Manifests{Paths: []string{path}, Networks: true})
	require.NoError(t, err)
	require.Empty(t, state.Problems)
	return world.New(state)
}

// ask returns the verdict about a connection on tcp/80, with ", cannot tell" after it if there are doubts.
func ask(t *testing.T, w *world.World, from, to string) string {
	t.Helper()
	q := question.Question{From: from, To: to}
	if !strings.HasPrefix(to, "svc/") {
		q.Port = "80"
	}
	answers, err := probe.Of(w, q, question.Where{})
	require.NoError(t, err)
	require.Len(t, answers, 1)
	if len(answers[0].Doubts) > 0 {
		return "cannot tell"
	}
	return string(answers[0].Verdict)
}

const (
	udn = `---
{apiVersion: k8s.ovn.org/v1, kind: UserDefinedNetwork, metadata: {name: net, namespace: %}, spec: {topology: Layer2, layer2: {role: Primary, subnets: [10.100.0.0/16]}}}
---
`
	cudn = `---
{apiVersion: k8s.ovn.org/v1, kind: ClusterUserDefinedNetwork, metadata: {name: tenant}, spec: {namespaceSelector: {matchExpressions: [{key: team, operator: In, values: [green, mint]}]},
  network: {topology: Layer3, layer3: {role: Primary, subnets: [{cidr: 10.101.0.0/16}]}}}}
---
`
	users = `
labelled red
labelled green
labelled mint
pod red/a
pod red/b
pod green/a
pod mint/a
pod blue/a
pod kube-system/kube-dns
{apiVersion: v1, kind: Service, metadata: {name: kube-dns, namespace: kube-system}, spec: {clusterIP: 10.96.0.10, selector: {app: kube-dns}, ports: [{port: 53}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: red}, spec: {clusterIP: 10.96.0.11, externalIPs: [192.0.2.10], selector: {app: a}, ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: one}, status: {addresses: [{type: InternalIP, address: 172.18.0.2}]}}
---
`
	closed = `---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: p, namespace: red}, spec: {podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchLabels: {app: z}}}]}]}}
---
`
)

// annotated is a pod a with an annotation.
func annotated(namespace, annotation string) string {
	return "---\n{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: " + namespace + ", annotations: {" + annotation + "}}, spec: {containers: [{name: c, image: x}]}}\n---\n"
}

func of(namespace string) string { return strings.ReplaceAll(udn, "%", namespace) }

// TestUserDefinedNetworks has the networks of ovn-kubernetes as their documentation has them.
func TestUserDefinedNetworks(t *testing.T) {
	whole := users + of("red") + cudn
	for _, tc := range []struct {
		name, manifests string
		want            map[string]string
	}{
		{"two networks", whole, map[string]string{
			"red/a->red/b": "allow", "green/a->mint/a": "allow", "red/a->green/a": "deny", "mint/a->red/b": "deny",
			"red/a->blue/a": "deny", "blue/a->green/a": "deny", "blue/a->kube-system/kube-dns": "allow",
			"red/a->203.0.113.7": "allow", "203.0.113.7->red/a": "allow",
			"node/one->red/a": "cannot tell", "red/a->node/one": "cannot tell", "node/one->blue/a": "allow",
		}},
		{"Services", whole, map[string]string{
			"red/a->svc/kube-system/kube-dns:53": "allow", "red/a->kube-system/kube-dns": "cannot tell", "kube-system/kube-dns->red/a": "cannot tell",
			"red/b->svc/red/web:80": "allow", "blue/a->svc/red/web:80": "deny", "blue/a->192.0.2.10": "cannot tell",
			"203.0.113.7->192.0.2.10": "allow", "red/b->192.0.2.10": "allow",
		}},
		{"a policy", whole + closed, map[string]string{
			"red/a->red/b": "deny", "red/b->red/a": "allow", "red/b->green/a": "deny", "red/b->svc/kube-system/kube-dns:53": "allow",
		}},
		{"a policy that egress depends on", whole + strings.ReplaceAll(closed, "spec: {", "spec: {policyTypes: [Egress], "), map[string]string{
			"red/a->svc/kube-system/kube-dns:53": "cannot tell", "red/a->blue/a": "deny", "green/a->svc/kube-system/kube-dns:53": "allow",
		}},
		{"a block that may have addresses of the network", whole + strings.ReplaceAll(closed, "podSelector: {matchLabels: {app: z}}", "ipBlock: {cidr: 10.100.7.0/24}"), map[string]string{
			"red/a->red/b": "cannot tell", "green/a->mint/a": "allow", "red/a->blue/a": "deny",
		}},
		{"a block that has all", whole + strings.ReplaceAll(closed, "podSelector: {matchLabels: {app: z}}", "ipBlock: {cidr: 10.0.0.0/8}"), map[string]string{
			"red/a->red/b": "allow",
		}},
		{"no label", strings.Replace(whole, "labelled red\n", "", 1), map[string]string{
			"red/a->blue/a": "cannot tell", "red/a->red/b": "cannot tell", "green/a->blue/a": "deny", "blue/a->kube-system/kube-dns": "allow",
		}},
		{"an open port", strings.Replace(whole, "pod red/b\n", strings.ReplaceAll(annotated("red", "k8s.ovn.org/open-default-ports: x"), "name: a", "name: b"), 1), map[string]string{
			"blue/a->red/b": "cannot tell", "blue/a->red/a": "deny",
		}},
		{"no network", users + cudn, map[string]string{"red/a->blue/a": "cannot tell", "green/a->blue/a": "deny"}},
		{"two networks of a namespace", whole + of("green"), map[string]string{"green/a->blue/a": "cannot tell", "red/a->blue/a": "deny", "mint/a->blue/a": "deny"}},
		{"another topology", strings.Replace(whole, "topology: Layer2", "topology: Localnet", 1), map[string]string{"red/a->blue/a": "cannot tell", "mint/a->blue/a": "deny"}},
		{"a secondary network", strings.Replace(whole, "layer2: {role: Primary", "layer2: {role: Secondary", 1), map[string]string{"red/a->blue/a": "cannot tell"}},
		{
			"networks that are connected", whole + "---\n{apiVersion: k8s.ovn.org/v1, kind: ClusterNetworkConnect, metadata: {name: c}, spec: {}}\n",
			map[string]string{"red/a->green/a": "cannot tell", "red/a->red/b": "allow", "blue/a->kube-system/kube-dns": "allow"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) { requireVerdicts(t, load(t, tc.manifests), tc.want) })
	}
}

func requireVerdicts(t *testing.T, w *world.World, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for connection := range want {
		from, to, _ := strings.Cut(connection, "->")
		got[connection] = ask(t, w, from, to)
	}
	require.Equal(t, want, got)
}

const subnets = `
pod red/a
pod red/b
pod green/a
pod blue/a
{apiVersion: v1, kind: Node, metadata: {name: one}, status: {addresses: [{type: InternalIP, address: 172.18.0.2}]}}
---
{apiVersion: kubeovn.io/v1, kind: Subnet, metadata: {name: ovn-default}, spec: {default: true, cidrBlock: 10.16.0.0/16}}
---
{apiVersion: kubeovn.io/v1, kind: Subnet, metadata: {name: red}, spec: {cidrBlock: 10.17.0.0/24, private: true, allowSubnets: [10.18.0.0/24], namespaces: [red]}}
---
{apiVersion: kubeovn.io/v1, kind: Subnet, metadata: {name: green}, spec: {cidrBlock: 10.18.0.0/24, namespaces: [green]}}
---
`

// TestSubnets has the Subnets and VPCs of kube-ovn as its controller renders them.
func TestSubnets(t *testing.T) {
	addressed := strings.NewReplacer("pod red/a", "pod red/a 10.17.0.2", "pod red/b", "pod red/b 10.17.0.3", "pod green/a", "pod green/a 10.18.0.2",
		"pod blue/a", "pod blue/a 10.16.0.2").Replace(subnets)
	private := map[string]string{
		"red/a->red/b": "allow", "green/a->red/a": "allow", "blue/a->red/a": "deny", "red/a->blue/a": "allow", "blue/a->green/a": "allow",
		"203.0.113.7->red/a": "deny", "red/a->203.0.113.7": "allow", "10.17.0.1->red/a": "allow", "node/one->red/a": "cannot tell", "node/one->blue/a": "allow",
	}
	vpc := strings.Replace(subnets, "name: green}, spec: {", "name: green}, spec: {vpc: v, ", 1)
	const object = "---\n{apiVersion: kubeovn.io/v1, kind: Vpc, metadata: {name: v}, spec: {}}\n"
	policy := strings.ReplaceAll(closed, "podSelector: {matchLabels: {app: z}}", "namespaceSelector: {}, podSelector: {matchLabels: {app: a}}")
	for _, tc := range []struct {
		name, manifests string
		want            map[string]string
	}{
		{"pods by their namespaces", subnets, private},
		{"pods by their addresses", addressed, private},
		{"a NetworkPolicy decides first", subnets + policy, map[string]string{
			"blue/a->red/b": "allow", "203.0.113.7->red/b": "deny", "red/b->red/a": "allow", "blue/a->red/a": "deny",
		}},
		{"ACLs", strings.Replace(subnets, "private: true", "private: true, acls: [{action: drop, direction: to-lport, match: ip, priority: 1}]", 1), map[string]string{
			"blue/a->red/a": "cannot tell", "red/a->red/b": "cannot tell", "blue/a->green/a": "allow",
		}},
		{"a part of another Subnet", strings.Replace(subnets, "10.18.0.0/24]", "10.18.0.0/25]", 1), map[string]string{
			"green/a->red/a": "cannot tell", "red/a->red/b": "allow",
		}},
		{"a part of another Subnet, with addresses", strings.Replace(addressed, "10.18.0.0/24]", "10.18.0.0/25]", 1), map[string]string{"green/a->red/a": "allow"}},
		{"annotations of pods", strings.NewReplacer("pod green/a\n", annotated("green", "ovn.kubernetes.io/logical_switch: red"),
			"pod blue/a\n", annotated("blue", "ovn.kubernetes.io/ip_pool: p")).Replace(subnets), map[string]string{
			"green/a->red/a": "allow", "blue/a->red/a": "cannot tell",
		}},
		{"a VPC", vpc + object, map[string]string{
			"green/a->blue/a": "deny", "blue/a->green/a": "deny", "red/a->green/a": "deny", "green/a->203.0.113.7": "cannot tell",
			"node/one->green/a": "cannot tell", "red/a->red/b": "allow", "red/a->blue/a": "allow",
		}},
		{"a VPC that is not declared", vpc, map[string]string{"green/a->blue/a": "cannot tell", "red/a->blue/a": "allow"}},
		{"a VPC with routes", vpc + strings.Replace(object, "spec: {", "spec: {vpcPeerings: [{remoteVpc: w}]", 1), map[string]string{"green/a->blue/a": "cannot tell"}},
		{"a baseline policy of the same place", subnets + `---
{apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: {name: c}, spec: {tier: Baseline, priority: 0, subject: {namespaces: {}},
  ingress: [{action: Accept, from: [{namespaces: {}}]}]}}
`, map[string]string{"blue/a->red/a": "cannot tell", "blue/a->green/a": "allow"}},
	} {
		t.Run(tc.name, func(t *testing.T) { requireVerdicts(t, load(t, tc.manifests), tc.want) })
	}
}

// TestNetworksAreNotWritten checks that a state without the option keeps the snapshot as it is, and the doubt.
func TestNetworksAreNotWritten(t *testing.T) {
	for file, pair := range map[string][2]string{
		"udn.yaml": {"red/a", "blue/b"}, "cudn.yaml": {"red/a", "blue/b"}, "kubeovn-private-subnet.yaml": {"blue/a", "red/b"},
	} {
		path := filepath.Join("..", "..", "offline", "testdata", "networks", file)
		plain, err := offline.Load(offline.Manifests{Paths: []string{path}})
		require.NoError(t, err)
		require.Equal(t, "cannot tell", ask(t, world.New(plain), pair[0], pair[1]), file)
		judged, err := offline.Load(offline.Manifests{Paths: []string{path}, Networks: true})
		require.NoError(t, err)
		require.Equal(t, "deny", ask(t, world.New(judged), pair[0], pair[1]), file)
		require.Empty(t, judged.Doubts(), file)
		require.Empty(t, judged.Reading.Unjudged)
		require.NotEmpty(t, plain.Reading.Unjudged)
	}
}
