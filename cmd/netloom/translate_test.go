package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/object"
)

func TestTranslate(t *testing.T) {
	got := netloom(t, "translate", "-f", exampleDir)
	require.Equal(t, exitDone, got.code)
	require.Empty(t, got.errout)
	require.Regexp(t, `(?m)^NetworkPolicy/shop/db +ingress +1 +tcp/5432 +pods app=api in namespace shop \(2\)$`, got.out)
	require.Regexp(t, `(?m)^NetworkPolicy/shop/default-deny +egress +5 +none +none$`, got.out)
	require.Regexp(t, `(?m)^NetworkPolicy/shop/api +ingress +1 of 2 +tcp/9000 +pods app=web in namespace shop \(2\)$`, got.out)
	require.Regexp(t, `(?m)^NetworkPolicy/shop/web +ingress +2 of 2 +tcp/8080 +0.0.0.0/0 except 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, ::/0 except fc00::/7$`, got.out)

	var fromJSON, fromYAML translation
	require.NoError(t, json.Unmarshal([]byte(netloom(t, "translate", "-f", exampleDir, "-o", "json").out), &fromJSON))
	require.NoError(t, yaml.Unmarshal([]byte(netloom(t, "translate", "-f", exampleDir, "-o", "yaml").out), &fromYAML))
	require.Equal(t, fromJSON, fromYAML)
	require.Len(t, fromJSON.Intents.Policies, 11)
	require.NotNil(t, fromJSON.Problems)

	require.Equal(t, "no policies, no Services and no pods\n", netloom(t, "translate", "-f", t.TempDir()).out)
	got = netloom(t, "translate", "-f", filepath.Join(t.TempDir(), "none"))
	require.Equal(t, exitFailed, got.code)
	got = netloom(t, "translate", "-f", exampleDir, "-o", "xml")
	require.Equal(t, "netloom: --output: \"xml\": expected table, name, yaml, json, sarif or junit\n", got.errout)
}

const sdwanDir = "../../deploy/examples/sdwan"

func TestTranslateShowsCNFsAndTheirDeviceIntents(t *testing.T) {
	got := netloom(t, "translate", "-f", sdwanDir)
	require.Equal(t, exitDone, got.code, got.errout)
	require.Regexp(t, `(?m)^openwrt/edge/cnf-0 +edge/branch +Pod +10.244.1.60 +ready$`, got.out)
	require.Regexp(t, `(?m)^FirewallForwarding/edge/office-to-internet +edge/branch +forwarding +`+
		`from=FirewallZone/edge/office to=FirewallZone/edge/internet$`, got.out)

	dir := t.TempDir()
	write(t, dir, "site.yaml", `apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: IpsecSite
metadata: {name: peer, namespace: edge, labels: {sdewanPurpose: branch}}
spec:
  remote: 203.0.113.50
  authentication_method: psk
  pre_shared_key: not-for-eyes
  crypto_proposal: [none]
  connections: [{name: c, conn_type: tunnel, mode: start, local_subnet: 10.0.0.0/24, remote_subnet: 10.1.0.0/24, crypto_proposal: [none]}]
`)
	for _, form := range []string{"table", "json", "yaml"} {
		got = netloom(t, "translate", "-f", dir, "-o", form)
		require.Contains(t, got.out, "tunnel", got.errout)
		require.NotContains(t, got.out+got.errout, "not-for-eyes")
	}
}

func TestTranslateReadsServicesFromAStream(t *testing.T) {
	in, err := os.Open(filepath.Join("..", "..", "docs", "commands", "services.yaml"))
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Close()) }()
	before := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = before }()
	got := netloom(t, "translate", "-f", "-")
	require.Equal(t, exitDone, got.code, got.errout)
	require.Regexp(t, `(?m)^Service/shop/db +cluster +tcp/10.96.0.10:5432 +10.0.0.2:15432, 10.0.0.3:15432$`, got.out)
	require.Regexp(t, `(?m)^ +cluster +tcp/10.96.0.10:8080 +none$`, got.out)
}

// faultyManifests is a directory with a faulty policy, a torn file and a fault that only translation finds.
func faultyManifests(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a b")
	require.NoError(t, os.Mkdir(dir, 0o700))
	write(t, dir, "policies.yaml", strings.Replace(policies(2), "port: 5432", "port: 99999", 1))
	write(t, dir, "torn.yaml", "a: [b\n")
	write(t, dir, "logged.yaml", `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: loud
  namespace: shop
  annotations: {netloom.io/acl-logging: '{"allow":"shouting"}'}
spec: {podSelector: {}}
`)
	return dir
}

func TestTranslateReportsProblems(t *testing.T) {
	dir := faultyManifests(t)
	got := netloom(t, "translate", "-f", dir)
	require.Equal(t, exitCannotTell, got.code)
	require.Contains(t, got.errout, "problem: "+filepath.Join(dir, "policies.yaml")+":9: NetworkPolicy/shop/db-client-a: spec.ingress[0].ports[0].port: ")
	require.Contains(t, got.errout, "problem: "+filepath.Join(dir, "torn.yaml")+":")
	require.Contains(t, got.errout, "problem: "+filepath.Join(dir, "logged.yaml")+":6: NetworkPolicy/shop/loud: metadata.annotations")
	require.Contains(t, got.errout, "netloom: cannot tell: 3 problems\n")
	require.Contains(t, got.out, "NetworkPolicy/shop/db-client-b", "the rest is shown")

	got = netloom(t, "translate", "-f", dir, "-o", "json")
	require.Equal(t, exitCannotTell, got.code)
	require.Equal(t, "netloom: cannot tell: 3 problems\n", got.errout, "they are part of the data")
	var data translation
	require.NoError(t, json.Unmarshal([]byte(got.out), &data))
	require.Len(t, data.Problems, 3)
}

func TestSARIF(t *testing.T) {
	dir := faultyManifests(t)
	got := netloom(t, "translate", "-f", dir, "-o", "sarif")
	require.Equal(t, exitCannotTell, got.code)
	var log sarifLog
	require.NoError(t, json.Unmarshal([]byte(got.out), &log))
	require.Equal(t, "2.1.0", log.Version)
	require.Contains(t, got.out, `"$schema": "https://json.schemastore.org/sarif-2.1.0.json"`)
	require.Len(t, log.Runs, 1)
	require.Len(t, log.Runs[0].Results, 3)
	for _, r := range log.Runs[0].Results {
		require.Equal(t, log.Runs[0].Tool.Driver.Rules[0].ID, r.RuleID)
		require.Equal(t, "error", r.Level)
		require.NotEmpty(t, r.Message.Text)
		require.NotZero(t, r.Locations[0].Physical.Region.StartLine)
	}
	logged := log.Runs[0].Results[0]
	require.Equal(t, "NetworkPolicy/shop/loud", logged.Locations[0].Logical[0].Name)
	require.Equal(t, 6, logged.Locations[0].Physical.Region.StartLine)
	require.Regexp(t, `^file:///.*/a%20b/logged\.yaml$`, logged.Locations[0].Physical.Artifact.URI)

	clean := netloom(t, "translate", "-f", exampleDir, "-o", "sarif")
	require.Equal(t, exitDone, clean.code)
	require.Contains(t, clean.out, `"results": []`, "no results are a list too")
	require.Equal(t, "policies/a%20b.yaml", uriOf(filepath.Join("policies", "a b.yaml")))
	require.Empty(t, sarifOf([]object.Problem{{Message: "lost"}}).Runs[0].Results[0].Locations)
}

func TestJUnitOfProblems(t *testing.T) {
	dir := faultyManifests(t)
	var report junitSuites
	require.NoError(t, xml.Unmarshal([]byte(netloom(t, "translate", "-f", dir, "-o", "junit").out), &report))
	require.Equal(t, 3, report.Tests)
	require.Equal(t, 3, report.Failures)
	c := report.Suites[0].Cases[1]
	require.Equal(t, "NetworkPolicy/shop/db-client-a spec.ingress[0].ports[0].port", c.Name)
	require.Equal(t, 9, c.Line)
	require.Equal(t, "problem", c.Failure.Type)

	clean := junitSuites{}
	require.NoError(t, xml.Unmarshal([]byte(netloom(t, "translate", "-f", exampleDir, "-o", "junit").out), &clean))
	require.Equal(t, 1, clean.Tests)
	require.Zero(t, clean.Failures)
}
