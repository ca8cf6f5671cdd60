package definition_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway/definition"
)

const good = `apiVersion: proxy.kubegateway.io/v1alpha1
kind: UpstreamCluster
metadata: {name: a.example}
spec:
  servers: [{endpoint: "https://192.168.0.1:6443"}, {endpoint: "https://[2001:db8::1]:6443", disabled: true}]
  clientConfig: {bearerToken: dA==, qps: 10, burst: 20, qpsDivisor: 2, serverName: kubernetes}
  secureServing: {serverNames: [b.example]}
  flowControl:
    flowControlSchemas:
    - {name: all, exempt: {}}
    - {name: few, maxRequestsInflight: {max: 10}}
    - {name: slow, tokenBucket: {qps: 1, burst: 2}}
  logging: {mode: "on"}
  dispatchPolicies:
  - upsteamSubset: ["https://192.168.0.1:6443"]
    strategy: RoundRobin
    flowControlSchemaName: slow
    logMode: "off"
    rules:
    - {verbs: ["*"], apiGroups: [""], resources: [-pods, -deployments], resourceNames: [x], users: [-a], serviceAccounts: [{namespace: shop, name: s}], userGroups: [g]}
    - {verbs: [get], nonResourceURLs: [/healthz, /healthz/*]}
`

func TestEveryFieldIsRead(t *testing.T) {
	got := definition.Read([]byte("# a comment\n---\n" + good + "---\n" + strings.Replace(good, "a.example", "c.example", 1)))
	require.Len(t, got, 2)
	require.NoError(t, got[0].Err)
	require.Equal(t, "a.example", got[0].Name)
	require.Equal(t, []string{"https://192.168.0.1:6443"}, got[0].Object.Spec.DispatchPolicies[0].Subset())
	require.Equal(t, "c.example", got[1].Object.Name)
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	bad := strings.NewReplacer(
		"max: 10}", "max: 0}", "qps: 1, burst: 2", "qps: 3, burst: 2", "flowControlSchemaName: slow", "flowControlSchemaName: missing",
		"burst: 20", "brust: 20", "[-pods, -deployments]", "[pods/*]", "mode: \"on\"", "mode: maybe",
	).Replace(good)
	err := definition.Read([]byte(bad))[0].Err
	for _, want := range []string{
		`unknown field "spec.clientConfig.brust"`, "spec.flowControl.flowControlSchemas[1].maxRequestsInflight.max", "spec.logging.mode",
	} {
		require.ErrorContains(t, err, want)
	}
	// An API server evaluates the rules in CEL once every value is of the right kind.
	bad = strings.ReplaceAll(strings.ReplaceAll(bad, "mode: maybe", ""), "max: 0}", "max: 1}")
	err = definition.Read([]byte(bad))[0].Err
	for _, want := range []string{
		"burst must not be less than qps", "must name a schema of flowControl.flowControlSchemas", "RESOURCE/* is not supported", "brust",
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestFaultsDoNotShowCredentials(t *testing.T) {
	for _, token := range []string{"*s3cret", "!!int s3cret", "!!int \"s3cret`x\"", "{s3: cret}", "\"s3cret", "!!float s3cret", "s3cret: x"} {
		found := definition.Read([]byte(strings.Replace(good, "bearerToken: dA==", "bearerToken: "+token, 1)))
		require.Error(t, found[0].Err, token)
		require.NotContains(t, found[0].Err.Error(), "cret", token)
	}
	err := definition.Read([]byte(strings.Replace(good, "bearerToken: dA==", "certData: s3cret!, keyData: s3cret!", 1)))[0].Err
	require.ErrorContains(t, err, "spec.clientConfig.keyData", "it is not in base64")
	require.NotContains(t, err.Error(), "s3cret")
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct{ name, old, replacement, want string }{
		{"no server", `servers: [{endpoint: "https://192.168.0.1:6443"}, {endpoint: "https://[2001:db8::1]:6443", disabled: true}]`, "servers: []", "spec.servers"},
		{"two schemes", `"https://[2001:db8::1]:6443"`, `"http://[2001:db8::1]:6443"`, "the same scheme"},
		{"a path in an endpoint", `{endpoint: "https://[2001:db8::1]:6443"`, `{endpoint: "https://x/y"`, "spec.servers[1].endpoint"},
		{"the same endpoint twice", `"https://[2001:db8::1]:6443"`, `"https://192.168.0.1:6443"`, "Duplicate value"},
		{"both spellings", "strategy: RoundRobin", `upstreamSubset: ["https://192.168.0.1:6443"]`, "set one of them"},
		{"a subset of nothing", `upsteamSubset: ["https://192.168.0.1:6443"]`, `upstreamSubset: ["https://x"]`, "must list endpoints of servers"},
		{"an alias of nothing", `upsteamSubset: ["https://192.168.0.1:6443"]`, `upsteamSubset: ["https://x"]`, "must list endpoints of servers"},
		{"two limits", "exempt: {}", "exempt: {}, maxRequestsInflight: {max: 1}", "exactly one of"},
		{"no limit", ", exempt: {}", "", "exactly one of"},
		{"a certificate without a key", "bearerToken: dA==", "bearerToken: dA==, certData: eA==", "must be set together"},
		{"a certificate that is none", "bearerToken: dA==", "bearerToken: dA==, certData: eA==, keyData: eA==", "spec.clientConfig.certData"},
		{"a CA that is none", "[b.example]", "[b.example], clientCAData: eA==", "spec.secureServing.clientCAData"},
		{"a service account without a namespace", "{namespace: shop, name: s}", "{name: s}", "namespace"},
		{"a path that is none", "/healthz,", "healthz,", "must begin with /"},
		{"a name that is none", "a.example", "A_", "metadata.name"},
		{"another kind", "UpstreamCluster", "Secret", "expected proxy.kubegateway.io/v1alpha1"},
		{"a repeated key", "kind: UpstreamCluster", "kind: UpstreamCluster\nkind: UpstreamCluster", "already set in map"},
		{"no YAML", "metadata:", "\tmetadata", "yaml"},
		{"a list", good, "[1]", "expected a Kubernetes object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Contains(t, good, tc.old)
			got := definition.Read([]byte(strings.Replace(good, tc.old, tc.replacement, 1)))
			require.Len(t, got, 1)
			require.Nil(t, got[0].Object)
			require.ErrorContains(t, got[0].Err, tc.want)
		})
	}
}

func TestFaultsShowNoSecrets(t *testing.T) {
	err := definition.Read([]byte(strings.Replace(good, "bearerToken: dA==", "bearerToken: "+strings.Repeat("s3cr3t", 5000), 1)))[0].Err
	require.ErrorContains(t, err, "spec.clientConfig.bearerToken")
	require.NotContains(t, err.Error(), "s3cr3t")
}

// FuzzRead checks that no text stops the program, and that what is accepted is complete.
func FuzzRead(f *testing.F) {
	f.Add(good)
	f.Add("{}\n---\n[]")
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range definition.Read([]byte(text)) {
			require.NotEqual(t, e.Err == nil, e.Object == nil)
			if e.Object != nil {
				require.Equal(t, e.Name, e.Object.Name)
				require.NotEmpty(t, e.Object.Spec.Servers)
				require.NotEmpty(t, e.Object.Spec.DispatchPolicies)
			}
		}
	})
}
