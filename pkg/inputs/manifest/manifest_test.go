package manifest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/inputs/source"
)

// policy wraps a spec, indented by two, into a document.
func policy(name, spec string) string {
	return "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: " + name + ", namespace: shop}\n" +
		"spec:\n" + spec
}

func problems(m *manifest) []string {
	var lines []string
	for _, f := range m.faults {
		lines = append(lines, f.Error())
	}
	return lines
}

func TestFaultyDocuments(t *testing.T) {
	const at = "a.yaml: document 1: NetworkPolicy/shop/web: "
	for _, tc := range []struct {
		name    string
		content string
		want    []string
	}{
		{
			"a field unknown to the type", policy("web", "  podSelector: {}\n  ingress: [{form: []}]\n"),
			[]string{at + "spec.ingress[0].form: unknown field"},
		},
		{
			"a field in the wrong case", policy("web", "  podselector: {}\n"),
			[]string{at + "spec.podselector: unknown field"},
		},
		{
			"a key given twice", policy("web", "  podSelector: {}\n  egress: []\n  egress: []\n"),
			[]string{at + `line 7: key "egress" already set in map`},
		},
		{
			"a key given twice in JSON", `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy",` +
				`"metadata":{"name":"web","namespace":"shop"},"spec":{"podSelector":{},"egress":[],"egress":[]}}`,
			[]string{at + "spec.egress: duplicate field"},
		},
		{
			"values of the wrong shape, all of them",
			policy("web", "  podSelector: {matchLabels: {app: yes}}\n  ingress: [{}, {ports: [{endPort: high}], from: {}}]\n"),
			[]string{
				at + "spec.ingress[1].from: expected a list, found a mapping",
				at + `spec.ingress[1].ports[0].endPort: expected an integer (int32), found the string "high"`,
				at + "spec.podSelector.matchLabels[app]: expected a string, found true",
			},
		},
		{
			"a port out of range", policy("web", "  podSelector: {}\n  ingress: [{ports: [{port: 70000}]}]\n"),
			[]string{at + "spec.ingress[0].ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive"},
		},
		{
			"a port number written as text", policy("web", "  podSelector: {}\n  egress: [{ports: [{port: \"80\"}]}]\n"),
			[]string{at + `spec.egress[0].ports[0].port: Invalid value: "80": must contain at least one letter (a-z)`},
		},
		{
			"an unknown protocol", policy("web", "  podSelector: {}\n  ingress: [{ports: [{protocol: ICMP}]}]\n"),
			[]string{at + `spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"`},
		},
		{
			"an end below the port, one after a name and one alone",
			policy("web", "  podSelector: {}\n  ingress: [{ports: [{port: 80, endPort: 79}, {port: http, endPort: 90}, {endPort: 1}]}]\n"),
			[]string{
				at + "spec.ingress[0].ports[0].endPort: Invalid value: 79: must be greater than or equal to `port`",
				at + "spec.ingress[0].ports[1].endPort: Invalid value: 90: may not be specified when `port` is non-numeric",
				at + "spec.ingress[0].ports[2].endPort: Invalid value: 1: may not be specified when `port` is not specified",
			},
		},
		{
			"an end out of range", policy("web", "  podSelector: {}\n  ingress: [{ports: [{port: 80, endPort: 65536}]}]\n"),
			[]string{at + "spec.ingress[0].ports[0].endPort: Invalid value: 65536: must be between 1 and 65535, inclusive"},
		},
		{
			"an empty peer", policy("web", "  podSelector: {}\n  ingress: [{from: [{}]}]\n"),
			[]string{at + "spec.ingress[0].from[0]: Required value: must specify a peer"},
		},
		{
			"a block with a selector", policy("web", "  podSelector: {}\n  egress: [{to: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}]\n"),
			[]string{at + "spec.egress[0].to[0]: Forbidden: may not specify both ipBlock and another peer"},
		},
		{
			"no CIDR and none that can be parsed",
			policy("web", "  podSelector: {}\n  ingress: [{from: [{ipBlock: {}}, {ipBlock: {cidr: 10.0.0.0}}, {ipBlock: {cidr: 10.0.0.0/33}}]}]\n"),
			[]string{
				at + "spec.ingress[0].from[0].ipBlock.cidr: Required value",
				at + `spec.ingress[0].from[1].ipBlock.cidr: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
				at + `spec.ingress[0].from[2].ipBlock.cidr: Invalid value: "10.0.0.0/33": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
			},
		},
		{
			"exceptions outside the block, equal to it and of the other family",
			policy("web", "  podSelector: {}\n  ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/9, 10.0.0.0/8, 'fd00::/64']}}]}]\n"),
			[]string{
				at + "spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: \"11.0.0.0/9\": must be a strict subset of `cidr`",
				at + "spec.ingress[0].from[0].ipBlock.except[1]: Invalid value: \"10.0.0.0/8\": must be a strict subset of `cidr`",
				at + "spec.ingress[0].from[0].ipBlock.except[2]: Invalid value: \"fd00::/64\": must be a strict subset of `cidr`",
			},
		},
		{
			"policy types that do not exist", policy("web", "  podSelector: {}\n  policyTypes: [ingress]\n"),
			[]string{at + `spec.policyTypes[0]: Unsupported value: "ingress": supported values: "Egress", "Ingress"`},
		},
		{
			"an operator without values and one that does not exist",
			policy("web", "  podSelector: {matchExpressions: [{key: a, operator: In}, {key: a, operator: Is}]}\n"),
			[]string{
				at + "spec.podSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
				at + `spec.podSelector.matchExpressions[1].operator: Invalid value: "Is": not a valid selector operator`,
			},
		},
		{
			"a name no object can have", policy("Web!", "  podSelector: {}\n"),
			[]string{`a.yaml: document 1: metadata.name: Invalid value: "Web!": a lowercase RFC 1123 subdomain must consist of ` +
				`lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character ` +
				`(e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		},
		{
			"no name", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n",
			[]string{"a.yaml: document 1: metadata.name: Required value: name or generateName is required"},
		},
		{"no kind", "apiVersion: v1\nmetadata: {name: a}\n", []string{"a.yaml: document 1: kind: Required value"}},
		{"no version", "kind: Pod\nmetadata: {name: a}\n", []string{"a.yaml: document 1: apiVersion: Required value"}},
		{
			"a misspelt kind", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolcy\n",
			[]string{`a.yaml: document 1: kind: no matches for kind "NetworkPolcy" in version "networking.k8s.io/v1"`},
		},
		{
			"a version no longer served", "apiVersion: extensions/v1beta1\nkind: NetworkPolicy\n",
			[]string{`a.yaml: document 1: kind: no matches for kind "NetworkPolicy" in version "extensions/v1beta1"`},
		},
		{
			"a version that does not exist", "apiVersion: networking.k8s.io/v1beta9\nkind: NetworkPolicy\nmetadata: {name: a}\n",
			[]string{`a.yaml: document 1: apiVersion: no matches for kind "NetworkPolicy" in version "networking.k8s.io/v1beta9"; expected networking.k8s.io/v1`},
		},
		{
			"a version in capitals", "apiVersion: networking.k8s.io/V1\nkind: NetworkPolicy\nmetadata: {name: a}\n",
			[]string{`a.yaml: document 1: apiVersion: no matches for kind "NetworkPolicy" in version "networking.k8s.io/V1"; expected networking.k8s.io/v1`},
		},
		{
			"a version of the core group that does not exist", "apiVersion: v2\nkind: Pod\nmetadata: {name: a}\n",
			[]string{`a.yaml: document 1: apiVersion: no matches for kind "Pod" in version "v2"; expected v1`},
		},
		{
			"the core group by its name", "apiVersion: core/v1\nkind: Service\nmetadata: {name: a}\n",
			[]string{`a.yaml: document 1: apiVersion: no matches for kind "Service" in version "core/v1"; expected v1`},
		},
		{
			"a misspelt group", "apiVersion: netwroking.k8.io/v1\nkind: NetworkPolicyList\nitems: []\n",
			[]string{`a.yaml: document 1: apiVersion: no matches for kind "NetworkPolicyList" in version "netwroking.k8.io/v1"; expected networking.k8s.io/v1`},
		},
		{
			"a cluster-wide policy of a misspelt group", "apiVersion: policy.network.k8s.io/v1alpha2\nkind: ClusterNetworkPolicy\nmetadata: {name: a}\n",
			nil,
		},
		{"a kind of that name in a group of others", "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\n", nil},
		{"another one", "apiVersion: crd.projectcalico.org/v1\nkind: NetworkPolicy\nmetadata: {name: a}\n", nil},
		{"no object", "- a\n- b\n", []string{"a.yaml: document 1: expected a mapping, found a list"}},
		{
			"a syntax error, by its line in the file", "# first\n---\na: b\n---\na: [b\nc: d\n",
			[]string{
				"a.yaml: document 1: kind: Required value",
				"a.yaml: document 2: line 5: did not find expected ',' or ']'",
			},
		},
		{
			"a pod with an address, a port and a phase that do not exist",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {'-a': b}}\n" +
				"spec: {containers: [{name: c, ports: [{name: toolongforaportname}, {containerPort: 80, protocol: tcp}]}]}\n" +
				"status: {phase: Up, podIPs: [{ip: 10.0.0.256}]}\n",
			[]string{
				"a.yaml: document 1: Pod/default/a: metadata.labels: Invalid value: \"-a\": name part must consist of alphanumeric characters, '-', '_' or '.', " +
					"and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
				`a.yaml: document 1: Pod/default/a: spec.containers[0].ports[0].containerPort: Required value`,
				`a.yaml: document 1: Pod/default/a: spec.containers[0].ports[0].name: Invalid value: "toolongforaportname": must be no more than 15 characters`,
				`a.yaml: document 1: Pod/default/a: spec.containers[0].ports[1].protocol: Unsupported value: "tcp": supported values: "TCP", "UDP", "SCTP"`,
				`a.yaml: document 1: Pod/default/a: status.phase: Unsupported value: "Up": supported values: "Pending", "Running", "Succeeded", "Failed", "Unknown"`,
				`a.yaml: document 1: Pod/default/a: status.podIP: Invalid value: "10.0.0.256": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
			},
		},
		{
			"two different spellings of an address",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus: {podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.2}]}\n",
			[]string{"a.yaml: document 1: Pod/default/a: status.podIPs[0].ip: Invalid value: \"10.0.0.2\": must be equal to `status.podIP`"},
		},
		{
			"a namespace for what has none", "apiVersion: v1\nkind: Node\nmetadata: {name: n1, namespace: shop}\n",
			[]string{"a.yaml: document 1: metadata.namespace: Forbidden: not allowed on this type"},
		},
		{
			"an item of a list", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: ok}}\n" +
				"- {apiVersion: v1, kind: Pod, metadata: {name: a}, sepc: {}}\n",
			[]string{"a.yaml: document 1: Pod/default/a: items[1].sepc: unknown field"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := parseManifest("a.yaml", []byte(tc.content), Options{})
			require.Equal(t, tc.want, problems(m))
			for _, e := range m.entries {
				require.True(t, e.object == nil || e.ref.Name == "ok", "%s was taken", e.ref)
			}
		})
	}
}

func TestWhichObjectsAFileDeclares(t *testing.T) {
	for _, tc := range []struct {
		name    string
		content string
		foreign map[string]int
		want    []string
	}{
		{"nothing but a comment", "# later\n", map[string]int{}, nil},
		{
			"documents, numbered from 1",
			"# head\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n# none\n--- # third\n" +
				"apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n...\n# tail\n",
			map[string]int{},
			[]string{"1 Namespace a", "3 Namespace b"},
		},
		{
			"lines that end in CRLF, behind a byte order mark",
			"\xef\xbb\xbf---\r\napiVersion: v1\r\nkind: Namespace\r\nmetadata: {name: a}\r\n---\r\napiVersion: v1\r\nkind: Node\r\nmetadata: {name: b}\r\n",
			map[string]int{},
			[]string{"1 Namespace a", "2 Node b"},
		},
		{
			"dashes within text", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  annotations:\n    x: |\n      ---\n      b\n",
			map[string]int{},
			[]string{"1 Namespace a"},
		},
		{
			"a stream of JSON values", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}` + "\n" +
				`{"apiVersion":"v1","kind":"Node","metadata":{"name":"b"}}`, map[string]int{}, []string{"1 Namespace a", "2 Node b"},
		},
		{"YAML that looks like JSON", "{apiVersion: v1, kind: Namespace, metadata: {name: a}}", map[string]int{}, []string{"1 Namespace a"}},
		{
			"lists, one within the other", "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: \"\"}\nitems:\n" +
				"- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}\n" +
				"- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", map[string]int{"ConfigMap": 1}, []string{"1 Pod default/a"},
		},
		{
			"lists of one kind, whose items need not name it",
			"apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a, namespace: x}}]\n---\n" +
				"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicyList\nitems: [{metadata: {name: b}, spec: {podSelector: {}}}]\n",
			map[string]int{},
			[]string{"1 Pod x/a", "2 NetworkPolicy default/b"},
		},
		{
			"kinds of no concern, known or not",
			"apiVersion: apps/v1\nkind: Deployment\n---\napiVersion: projectcalico.org/v3\nkind: NetworkPolicy\n---\n" +
				"apiVersion: v1\nkind: ConfigMap\nmetadata: 17\n",
			map[string]int{"Deployment": 1, "NetworkPolicy": 1, "ConfigMap": 1},
			nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := parseManifest("a.yaml", []byte(tc.content), Options{})
			require.Empty(t, problems(m))
			var got []string
			for _, e := range m.entries {
				require.NotNil(t, e.object)
				require.Equal(t, e.ref.Name, e.object.GetName())
				require.Equal(t, e.ref.Namespace, e.object.GetNamespace())
				got = append(got, strings.Join([]string{string(rune('0' + e.document)), e.ref.String()}, " "))
			}
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.foreign, m.foreign)
		})
	}
}

func TestKustomizationIsNotAManifest(t *testing.T) {
	require.Empty(t, problems(parseManifest("x/kustomization.yaml", []byte("resources: [a.yaml]\n"), Options{})))
}

func only[T source.Object](t *testing.T, content string) T {
	t.Helper()
	m := parseManifest("a.yaml", []byte(content), Options{})
	require.Empty(t, problems(m))
	require.Len(t, m.entries, 1)
	o, ok := m.entries[0].object.(T)
	require.True(t, ok)
	return o
}

func TestPolicyDefaults(t *testing.T) {
	ingress, egress := networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress
	for _, tc := range []struct {
		name string
		spec string
		want []networkingv1.PolicyType
	}{
		{"no sections", "  podSelector: {}\n", []networkingv1.PolicyType{ingress}},
		{"no types, given as an empty list", "  podSelector: {}\n  policyTypes: []\n", []networkingv1.PolicyType{ingress}},
		{"an egress section that is empty", "  podSelector: {}\n  egress: []\n", []networkingv1.PolicyType{ingress}},
		{"an egress rule", "  podSelector: {}\n  egress: [{}]\n", []networkingv1.PolicyType{ingress, egress}},
		{"types that are given", "  podSelector: {}\n  policyTypes: [Egress]\n  ingress: [{}]\n", []networkingv1.PolicyType{egress}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := only[*networkingv1.NetworkPolicy](t, policy("web", tc.spec))
			require.Equal(t, tc.want, p.Spec.PolicyTypes)
		})
	}

	p := only[*networkingv1.NetworkPolicy](t, policy("web",
		"  podSelector: {}\n  ingress: [{ports: [{port: 80}, {protocol: UDP}]}]\n  egress: [{ports: [{}]}]\n"))
	require.Equal(t, corev1.ProtocolTCP, *p.Spec.Ingress[0].Ports[0].Protocol)
	require.Equal(t, corev1.ProtocolUDP, *p.Spec.Ingress[0].Ports[1].Protocol)
	require.Equal(t, corev1.ProtocolTCP, *p.Spec.Egress[0].Ports[0].Protocol)
}

func TestBlocksMayHaveHostBits(t *testing.T) {
	p := only[*networkingv1.NetworkPolicy](t, policy("web",
		"  podSelector: {}\n  ingress: [{from: [{ipBlock: {cidr: 10.244.1.20/24, except: [10.244.1.9/30]}}]}]\n"))
	require.Equal(t, "10.244.1.20/24", p.Spec.Ingress[0].From[0].IPBlock.CIDR)
}

func TestPodDefaults(t *testing.T) {
	const head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
	for _, tc := range []struct {
		name   string
		status string
		want   corev1.PodStatus
	}{
		{"no address", "{}", corev1.PodStatus{Phase: corev1.PodPending}},
		{
			"one address", "{podIP: 10.0.0.1}",
			corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}},
		},
		{
			"two addresses", "{podIPs: [{ip: 10.0.0.1}, {ip: 'fd00::1'}]}",
			corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: "10.0.0.1",
				PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}},
			},
		},
		{
			"a phase", "{phase: Succeeded, podIP: 10.0.0.1}",
			corev1.PodStatus{Phase: corev1.PodSucceeded, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := only[*corev1.Pod](t, head+"status: "+tc.status+"\n")
			require.Equal(t, tc.want, p.Status)
			require.False(t, p.Spec.HostNetwork)
			require.Equal(t, "default", p.Namespace)
		})
	}

	p := only[*corev1.Pod](t, head+"spec: {containers: [{name: c, image: i, ports: [{name: web, containerPort: 80}]}]}\n")
	require.Equal(t, []corev1.Container{{
		Name: "c", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 80, Protocol: corev1.ProtocolTCP}},
	}}, p.Spec.Containers)
}

func TestNamespaceHasItsNameAsLabel(t *testing.T) {
	n := only[*corev1.Namespace](t,
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: a, kubernetes.io/metadata.name: other}}\n")
	require.Equal(t, map[string]string{"team": "a", "kubernetes.io/metadata.name": "shop"}, n.Labels)
}

func FuzzParseManifest(f *testing.F) {
	for _, seed := range []string{
		"", "---", "--- {a: b}\n...\n", "a: &a [*a]", "{}", "[]", "null", "? [a]: b", "kind: List\napiVersion: v1\nitems: [null, 1, {}]",
		policy("web", "  podSelector: {matchLabels: {a: 1}}\n  ingress: [{ports: [{port: x}]}]\n"),
		`{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"}},{"metadata":[]}]}{`,
		service("web", "  type: NodePort\n  clusterIPs: [10.96.0.1, 'fd00::1']\n  ports: [{port: 80, nodePort: 1}]\n  sessionAffinity: ClientIP\n"),
		slice("web-1", "addressType: IPv4\nports: [{port: 80}]\nendpoints: [{addresses: [10.0.0.1], hints: {forZones: [{name: a}]}}]\n"),
		endpoints("web", "subsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 80}]}]\n"),
		sdwan("Mwan3Policy", "p", "{members: [{network: a, metric: 1, weight: 1}]}"),
		strings.Replace(sdwan("IpsecSite", "a", site("authentication_method: psk, pre_shared_key: k")), "batch.", "", 1),
		"kind: Secret\napiVersion: v1\nmetadata: {name: a}\ndata: {a: YQ==}\nstringData: {b: c}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		m := parseManifest("a.yaml", content, Options{})
		for _, e := range m.entries {
			row, ok := kindOf(e.ref.Kind)
			require.True(t, ok)
			if e.object != nil {
				require.Empty(t, row.validate(e.object), "what is taken is valid")
			} else {
				require.NotEmpty(t, m.faults, "what is refused is reported")
			}
		}
	})
}
