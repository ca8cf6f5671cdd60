package definition_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway/definition"
)

// kubeGateway is an object that KubeGateway and netloom accept.
const kubeGateway = `apiVersion: proxy.kubegateway.io/v1alpha1
kind: UpstreamCluster
metadata: {name: a.example}
spec:
  servers: [{endpoint: "https://192.0.2.1:6443"}, {endpoint: "https://192.0.2.2:6443", disabled: true}]
  clientConfig: {insecure: true, bearerToken: dG9rZW4=, qps: 10, burst: 20, qpsDivisor: 2, serverName: kubernetes}
  secureServing: {serverNames: [b.example]}
  flowControl:
    flowControlSchemas:
    - {name: all, exempt: {}}
    - {name: few, maxRequestsInflight: {max: 10}}
    - {name: slow, tokenBucket: {qps: 1, burst: 2}}
  logging: {mode: "on"}
  dispatchPolicies:
  - upstreamSubset: ["https://192.0.2.1:6443"]
    strategy: RoundRobin
    flowControlSchemaName: slow
    logMode: "off"
    rules:
    - {verbs: ["*"], apiGroups: [""], resources: [-pods], resourceNames: [x], users: [-a], serviceAccounts: [{namespace: shop, name: s}], userGroups: [g]}
    - {verbs: [get], nonResourceURLs: [/healthz, /healthz/*]}
`

// TestObjectsOfKubeGateway changes an object, and compares what netloom says with what KubeGateway's admission says
// (pkg/apis/proxy/v1alpha1/validation at ae987433, which was run on the same objects). Where they differ, why says which one of docs/gateway.md's
// differences it is.
func TestObjectsOfKubeGateway(t *testing.T) {
	const (
		one   = `{endpoint: "https://192.0.2.1:6443"}`
		two   = `, {endpoint: "https://192.0.2.2:6443", disabled: true}`
		slow  = "{qps: 1, burst: 2}"
		rule  = `    - {verbs: ["*"], apiGroups: [""], resources: [-pods], resourceNames: [x], users: [-a], serviceAccounts: [{namespace: shop, name: s}], userGroups: [g]}` + "\n"
		paths = "    - {verbs: [get], nonResourceURLs: [/healthz, /healthz/*]}\n"
	)
	ca := newCA(t)
	for _, tc := range []struct {
		name, old, replacement string
		theirs, ours           bool
		why                    string // they differ; "" if they do not
	}{
		{"as it is", "", "", true, true, ""},

		{"no server", "[" + one + two + "]", "[]", false, false, ""},
		{"one server", two, "", true, true, ""},
		{"a server without a scheme", one, `{endpoint: "192.0.2.1:6443"}`, false, false, ""},
		{"a server with a path", two, `, {endpoint: "https://192.0.2.2:6443/x"}`, true, false, "an endpoint has no path"},
		{"a server twice", two, ", " + one, true, false, "an endpoint is listed once"},
		{"two schemes", `"https://192.0.2.2:6443"`, `"http://192.0.2.2:6443"`, false, false, ""},

		{"a token in base64", "bearerToken: dG9rZW4=", "bearerToken: c2VjcmV0", true, true, ""},
		{"a token that is not in base64", "bearerToken: dG9rZW4=", "bearerToken: eyJh.eyJz.c2ln", false, false, ""},
		{"a token in the alphabet of base64", "bearerToken: dG9rZW4=", "bearerToken: abcdefgh", true, false, "a token is checked"},
		{"no credentials", "bearerToken: dG9rZW4=, ", "", false, true, "a cluster may need none"},
		{"no CA", "insecure: true, ", "", false, true, "the CAs of the system"},
		{"a CA that is none", "insecure: true, ", "caData: eA==, ", false, false, ""},
		{"a CA", "insecure: true, ", "caData: CA, ", true, true, ""},
		{"a CA that is not used", "insecure: true, ", "insecure: true, caData: CA, ", true, false, "a CA has no effect with insecure"},
		{"a certificate without a key", "bearerToken: dG9rZW4=", "certData: eA==", false, false, ""},
		{"a key without a certificate", "bearerToken: dG9rZW4=", "keyData: eA==", false, false, ""},
		{"a certificate that is none", "bearerToken: dG9rZW4=", "certData: eA==, keyData: eA==", false, false, ""},
		{"no rate", "qps: 10, burst: 20, qpsDivisor: 2, ", "", true, true, ""},
		{"a negative rate", "qps: 10", "qps: -1", false, false, ""},
		{"a negative burst", "burst: 20", "burst: -1", false, false, ""},
		{"a negative divisor", "qpsDivisor: 2", "qpsDivisor: -1", false, false, ""},
		{"a burst below the rate", "burst: 20", "burst: 5", false, true, "0 is twice qps, and less is allowed"},
		{"no server name", ", serverName: kubernetes", "", true, true, ""},

		{"a serving certificate without a key", "{serverNames:", "{certData: eA==, serverNames:", true, false, "certData and keyData belong together"},
		{"a serving certificate that is none", "{serverNames:", "{certData: eA==, keyData: eA==, serverNames:", false, false, ""},
		{"a client CA that is none", "{serverNames:", "{clientCAData: eA==, serverNames:", false, false, ""},
		{"a host name in capitals", "[b.example]", "[B.example]", true, false, "host names are in lower case"},

		{"a limit without a name", "{name: all, exempt: {}}", "{exempt: {}}", false, false, ""},
		{"a limit twice", "name: all", "name: few", false, false, ""},
		{"a limit of no kind", "name: all, exempt: {}", "name: all", false, false, ""},
		{"a limit of two kinds", "exempt: {}", "exempt: {}, maxRequestsInflight: {max: 1}", false, false, ""},
		{"no request at a time", "max: 10", "max: 0", true, false, "a limit is at least 1"},
		{"a negative number of requests", "max: 10", "max: -1", false, false, ""},
		{"a rate of nothing", slow, "{qps: 0, burst: 2}", false, false, ""},
		{"a limit with a negative rate", slow, "{qps: -1, burst: 2}", true, false, "a limit is at least 1"},
		{"a limit with a burst below the rate", slow, "{qps: 3, burst: 2}", false, false, ""},
		{"a limit of all instances", slow, "{qps: 1, burst: 2}, globalTokenBucket: {qps: 10, burst: 20}", true, true, ""},
		{"a limit of all instances below that of one", slow, "{qps: 2, burst: 2}, globalTokenBucket: {qps: 1, burst: 2}", false, false, ""},
		{"a burst of all instances below that of one", slow, "{qps: 1, burst: 3}, globalTokenBucket: {qps: 1, burst: 2}", false, false, ""},
		{"a burst of all instances below the rate", slow, "{qps: 1, burst: 2}, globalTokenBucket: {qps: 10, burst: 5}", true, false, "a burst is not below the rate"},
		{"a limit of all instances of another kind", slow, "{qps: 1, burst: 2}, globalMaxRequestsInflight: {max: 20}", false, false, ""},
		{"requests in flight of all instances", "{max: 10}", "{max: 10}, globalMaxRequestsInflight: {max: 20}", true, true, ""},
		{"fewer requests in flight of all instances", "{max: 10}", "{max: 10}, globalMaxRequestsInflight: {max: 9}", false, false, ""},
		{"a strategy of a limit", "name: slow,", "name: slow, strategy: local,", true, true, ""},
		{"a strategy that there is not", "name: slow,", "name: slow, strategy: global,", false, false, ""},

		{"no log mode", "  logging: {mode: \"on\"}\n", "", true, true, ""},
		{"another log mode", `{mode: "on"}`, "{mode: maybe}", false, false, ""},
		{"another log mode of a policy", `logMode: "off"`, "logMode: maybe", false, false, ""},

		{"no policy", "  dispatchPolicies:\n", "  dispatchPolicies: []\n  ignored:\n", false, false, ""},
		{"the default strategy", "    strategy: RoundRobin\n", "", true, true, ""},
		{"another strategy", "RoundRobin", "Random", false, false, ""},
		{"a subset of other servers", `upstreamSubset: ["https://192.0.2.1:6443"]`, `upstreamSubset: ["https://192.0.2.3:6443"]`, false, false, ""},
		{"a subset with a server twice", `upstreamSubset: ["https://192.0.2.1:6443"]`, `upstreamSubset: ["https://192.0.2.1:6443", "https://192.0.2.1:6443"]`, true, false, "an endpoint is listed once"},
		{"an unknown limit", "flowControlSchemaName: slow", "flowControlSchemaName: none", false, false, ""},
		{"no limit", "    flowControlSchemaName: slow\n", "", true, true, ""},
		{"no rule", "    rules:\n" + rule + paths, "    rules: []\n", false, false, ""},
		{"a rule without verbs", `{verbs: ["*"], apiGroups`, "{apiGroups", true, true, ""},
		{"all subresources of a resource", "[-pods]", "[pods/*]", true, false, "RESOURCE/* matches nothing"},
		{"a path without a slash", "/healthz,", "healthz,", true, false, "a path begins with /"},
		{"a service account without a namespace", "{namespace: shop, name: s}", "{name: s}", true, false, "a service account is whole"},
		{"a user without a name", "[-a]", `[""]`, true, false, "an element is not empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.old != "" {
				require.Equal(t, 1, strings.Count(kubeGateway, tc.old), "what is replaced")
			}
			text := strings.Replace(kubeGateway, tc.old, strings.ReplaceAll(tc.replacement, "caData: CA", "caData: "+ca), 1)
			got := definition.Read([]byte(text))
			require.Len(t, got, 1)
			require.Equal(t, tc.ours, got[0].Err == nil, "%v", got[0].Err)
			require.Equal(t, tc.theirs != tc.ours, tc.why != "")
		})
	}
}

// newCA returns the certificate of a CA in PEM, in base64.
func newCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestTheDesignDocumentsSpellingIsRead is the one field that only netloom has.
func TestTheDesignDocumentsSpellingIsRead(t *testing.T) {
	got := definition.Read([]byte(strings.Replace(kubeGateway, "upstreamSubset:", "upsteamSubset:", 1)))
	require.NoError(t, got[0].Err)
	require.Equal(t, []string{"https://192.0.2.1:6443"}, got[0].Object.Spec.DispatchPolicies[0].Subset())
}

// TestTokensAreInBase64 tries tokens in every form that people write.
func TestTokensAreInBase64(t *testing.T) {
	const jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	const spelling = `printf %s "$TOKEN" | base64 -w0`
	for _, tc := range []struct{ name, written, want, err string }{
		{"a service account's in base64", encode(jwt), jwt, ""},
		{"an opaque one in base64", encode("abcdef.0123456789abcdef"), "abcdef.0123456789abcdef", ""},
		{"none", `""`, "", ""},
		{"a service account's as it is", jwt, "", "bearerToken must be in base64"},
		{"an opaque one as it is", "abcdef.0123456789abcdef", "", "bearerToken must be in base64"},
		{"one in the alphabet of base64 as it is", "0123456789abcdef", "", "spec.clientConfig.bearerToken: it is not the base64 of a token, but perhaps the token itself"},
		{"with a line end", encode(jwt + "\n"), "", "spec.clientConfig.bearerToken: the token ends with a line end or space"},
		{"in base64 twice", encode(encode(jwt)), "", "spec.clientConfig.bearerToken: the token is in base64 twice"},
		{"in base64 for URLs", base64.URLEncoding.EncodeToString([]byte("~~~???")), "", "bearerToken must be in base64"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := definition.Read([]byte(strings.Replace(kubeGateway, "dG9rZW4=", tc.written, 1)))
			require.Len(t, got, 1)
			if tc.err == "" {
				require.NoError(t, got[0].Err)
				require.Equal(t, tc.want, string(got[0].Object.Spec.ClientConfig.BearerToken))
				return
			}
			require.ErrorContains(t, got[0].Err, tc.err)
			require.ErrorContains(t, got[0].Err, spelling)
			require.NotContains(t, got[0].Err.Error(), tc.written)
			require.NotContains(t, got[0].Err.Error(), "c2ln")
		})
	}
}
