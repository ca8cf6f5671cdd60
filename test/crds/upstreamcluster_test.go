package crds_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

func TestUpstreamClusterIsDefinedAsItsTypeSays(t *testing.T) {
	d := loadAll(t)[v1alpha1.KindUpstreamCluster]
	require.NotNil(t, d)
	spec := d.Text.Spec
	require.Equal(t, v1alpha1.PluralUpstreamCluster+"."+v1alpha1.Group, d.Text.Name)
	require.Equal(t, apiextensionsv1.ClusterScoped, spec.Scope)
	require.Len(t, spec.Versions, 1)
	v := spec.Versions[0]
	require.Equal(t, v1alpha1.Version, v.Name)
	require.True(t, v.Served && v.Storage)
	require.NotNil(t, v.Subresources.Status)
	properties := v.Schema.OpenAPIV3Schema.Properties["spec"].Properties
	require.Equal(t, []string{"endpoint"}, properties["servers"].XListMapKeys)
	require.Equal(t, []string{"name"}, properties["flowControl"].Properties["flowControlSchemas"].XListMapKeys)
	bounded(t, "spec", v.Schema.OpenAPIV3Schema.Properties["spec"])
}

// upstreamCluster has every field of the kind.
const upstreamCluster = `
apiVersion: proxy.kubegateway.io/v1alpha1
kind: UpstreamCluster
metadata: {name: a.example}
spec:
  servers:
  - endpoint: https://192.0.2.1:6443
  - {endpoint: "https://192.0.2.2:6443", disabled: true}
  clientConfig: {bearerToken: dA==, keyData: a2V5, certData: Y2VydA==, caData: Y2E=, qps: 1, burst: 2, qpsDivisor: 3, serverName: kubernetes}
  secureServing: {keyData: a2V5, certData: Y2VydA==, clientCAData: Y2E=, serverNames: [b.example]}
  flowControl:
    flowControlSchemas:
    - {name: all, exempt: {}}
    - {name: few, maxRequestsInflight: {max: 10}}
    - {name: slow, tokenBucket: {qps: 1, burst: 2}}
  dispatchPolicies:
  - strategy: RoundRobin
    upstreamSubset: ["https://192.0.2.1:6443"]
    flowControlSchemaName: few
    logMode: "off"
    rules:
    - {verbs: ["*"], apiGroups: [""], resources: [-pods], resourceNames: [x], users: [-a], serviceAccounts: [{namespace: shop, name: s}], userGroups: [g]}
  - upsteamSubset: ["https://192.0.2.2:6443"]
    rules: [{verbs: [get], nonResourceURLs: [/healthz]}]
  logging: {mode: "on"}
`

// TestUpstreamClustersAreValidated lists mistakes, and what the user reads. The gateway finds the same faults in a file.
func TestUpstreamClustersAreValidated(t *testing.T) {
	server, ours := loadAll(t), definitions(t)
	long := func(n int) string { return strings.Repeat("x", n) }
	list := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ", ")
	}
	require.Empty(t, admit(t, server, object(t, upstreamCluster)))
	for _, tc := range []struct{ name, old, replacement, want string }{
		{"a field misspelt", "disabled: true", "enabled: true", `unknown field "spec.servers[1].enabled"`},
		{"no API server", "servers:\n  - endpoint: https://192.0.2.1:6443\n  - {endpoint: \"https://192.0.2.2:6443\", disabled: true}", "servers: []", "spec.servers in body should have at least 1 items"},
		{"an API server twice", `"https://192.0.2.2:6443", disabled`, `"https://192.0.2.1:6443", disabled`, "spec.servers[1]: Duplicate value"},
		{"an endpoint with a path", `endpoint: https://192.0.2.1:6443`, `endpoint: https://192.0.2.1:6443/x`, "spec.servers[0].endpoint"},
		{"two schemes", `"https://192.0.2.2:6443", disabled`, `"http://192.0.2.2:6443", disabled`, "all endpoints must have the same scheme"},
		{"too many API servers", `  - {endpoint: "https://192.0.2.2:6443", disabled: true}`, "  - " + strings.ReplaceAll(list(32, `endpoint: https://198.51.100.%d:6443`), ", ", "\n  - "), "spec.servers: Too many: 33: must have at most 32 items"},
		{"a certificate without a key", "keyData: a2V5, certData: Y2VydA==, caData", "certData: Y2VydA==, caData", "certData and keyData must be set together"},
		{"a key without a certificate", "keyData: a2V5, certData: Y2VydA==, clientCAData", "keyData: a2V5, clientCAData", "certData and keyData must be set together"},
		{"a CA that is not used", "qpsDivisor: 3", "insecure: true", "caData has no effect with insecure"},
		{"a token that is too long", "bearerToken: dA==", "bearerToken: " + long(21852), "spec.clientConfig.bearerToken: Too long"},
		{"credentials beside a token", "bearerToken: dA==", "credentials: {user: a}, bearerToken: dA==", "credentials takes the place of bearerToken, certData and keyData"},
		{"credentials of two kinds", "bearerToken: dA==, keyData: a2V5, certData: Y2VydA==", "credentials: {user: a, secretName: b}", "exactly one of user and secretName must be set"},
		{"credentials of no kind", "bearerToken: dA==, keyData: a2V5, certData: Y2VydA==", "credentials: {}", "exactly one of user and secretName must be set"},
		{"a token for too short a time", "bearerToken: dA==, keyData: a2V5, certData: Y2VydA==", "credentials: {user: a, tokenRequest: {serviceAccount: {namespace: a, name: b}, expirationSeconds: 599}}", "a token is valid for at least 600 seconds"},
		{"a token that is not in base64", "bearerToken: dA==", "bearerToken: eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln", `bearerToken must be in base64, as KubeGateway reads it: printf %s "$TOKEN" | base64 -w0`},
		{"a negative rate", "qps: 1, burst: 2, qpsDivisor", "qps: -1, burst: 2, qpsDivisor", "spec.clientConfig.qps in body should be greater than or equal to 0"},
		{"a host name in capitals", "[b.example]", "[B.example]", "spec.secureServing.serverNames[0]"},
		{"a host name twice", "[b.example]", "[b.example, b.example]", "spec.secureServing.serverNames[1]: Duplicate value"},
		{"too many host names", "[b.example]", "[" + list(65, "b%d") + "]", "spec.secureServing.serverNames: Too many"},
		{"a limit twice", "name: all,", "name: few,", "spec.flowControl.flowControlSchemas[1]: Duplicate value"},
		{"a limit without a kind", "exempt: {}", "", "exactly one of exempt, maxRequestsInflight and tokenBucket must be set"},
		{"a limit of two kinds", "exempt: {}", "exempt: {}, maxRequestsInflight: {max: 1}", "exactly one of exempt, maxRequestsInflight and tokenBucket must be set"},
		{"a limit of nothing", "max: 10", "max: 0", "should be greater than or equal to 1"},
		{"a burst that is too small", "qps: 1, burst: 2}}", "qps: 3, burst: 2}}", "burst must not be less than qps"},
		{"another strategy", "strategy: RoundRobin", "strategy: Random", `spec.dispatchPolicies[0].strategy: Unsupported value: "Random": supported values: "RoundRobin"`},
		{"an unknown API server in a subset", `upstreamSubset: ["https://192.0.2.1:6443"]`, `upstreamSubset: ["https://192.0.2.9:6443"]`, "upstreamSubset of every dispatch policy must list endpoints of servers"},
		{"the same under the other spelling", `upsteamSubset: ["https://192.0.2.2:6443"]`, `upsteamSubset: ["https://192.0.2.9:6443"]`, "upsteamSubset of every dispatch policy must list endpoints of servers"},
		{"both spellings", "upsteamSubset:", "upstreamSubset: [\"https://192.0.2.1:6443\"]\n    upsteamSubset:", "upsteamSubset is an alias of upstreamSubset: set one of them"},
		{"an unknown limit", "flowControlSchemaName: few", "flowControlSchemaName: fwe", "flowControlSchemaName of every dispatch policy must name a schema"},
		{"another log mode", `logMode: "off"`, "logMode: none", "spec.dispatchPolicies[0].logMode: Unsupported value"},
		{"a policy without rules", "rules: [{verbs: [get], nonResourceURLs: [/healthz]}]", "rules: []", "spec.dispatchPolicies[1].rules in body should have at least 1 items"},
		{"all subresources", "resources: [-pods]", "resources: [pods/*]", "RESOURCE/* is not supported: list the subresources"},
		{"a path without a slash", "[/healthz]", "[healthz]", "a path must begin with / or be *"},
		{"a user without a name", "users: [-a]", `users: [""]`, "spec.dispatchPolicies[0].rules[0].users[0] in body should be at least 1 chars long"},
		{"a service account without a namespace", "{namespace: shop, name: s}", "{name: s}", "spec.dispatchPolicies[0].rules[0].serviceAccounts[0].namespace: Required value"},
		{"too many users", "users: [-a]", "users: [" + list(65, "u%d") + "]", "spec.dispatchPolicies[0].rules[0].users: Too many"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, 1, strings.Count(upstreamCluster, tc.old), "what is replaced")
			o := object(t, strings.Replace(upstreamCluster, tc.old, tc.replacement, 1))
			requireAgreement(t, server, ours, runtime.DeepCopyJSON(o))
			require.Contains(t, strings.Join(admit(t, server, o), "\n"), tc.want)
		})
	}
}
